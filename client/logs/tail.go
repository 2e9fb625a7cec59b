package logs

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tailedFile is how far a growing log file was read.
type tailedFile struct {
	name    string
	base    string // of its family
	offset  int64  // bytes that were read
	last    []byte // the last of them, by which the file is known again
	partial []byte // a line that was begun
}

const (
	// memory is how many bytes of a file are compared to know it again.
	memory = 256
	// maxLine bounds what is kept of a line that has not ended; longer ones are
	// given in pieces.
	maxLine = 1 << 20
)

// Tail reads the log files of one container as they grow. Files may be
// rolled: renamed, with another one begun in their place. A file is known by the
// bytes that were read of it last, so that no line is lost or doubled then.
type Tail struct {
	files map[string]*tailedFile
	// line is called with each line, without its end.
	line func(file string, text []byte) error
	// skip tells which files are not read.
	skip func(name string) bool
	// LastLines is how many lines the first read gives of each file; 0 for all.
	LastLines int
}

// WriteError is an error of who takes the lines, not of where they come from.
type WriteError struct{ Err error }

func (w *WriteError) Error() string { return w.Err.Error() }
func (w *WriteError) Unwrap() error { return w.Err }

func NewTail(line func(file string, text []byte) error, skip func(name string) bool) *Tail {
	return &Tail{files: map[string]*tailedFile{}, line: line, skip: skip}
}

// looks is how often files are listed again where they do not fit what was read
// of them: they may have been rolled after they were listed.
const looks = 3

// read gives what has come since the last time.
func (c *Tail) Read(ctx context.Context, source Source) error {
	for look := range looks {
		err := c.readOnce(ctx, source, look)
		if !errors.Is(err, ErrShorter) {
			return err
		}
	}
	return nil // the next time finds what it is
}

func (c *Tail) readOnce(ctx context.Context, source Source, look int) error {
	listed, err := source.List(ctx)
	if err != nil {
		return err
	}
	listed = slices.DeleteFunc(listed, func(f FileInfo) bool { return c.skip(f.Name) })
	for _, family := range families(listed) {
		if look > 0 || c.looksMoved(family) {
			if err := c.recognize(ctx, source, family, look == looks-1); err != nil {
				return err
			}
		}
		if err := c.readFiles(ctx, source, family); err != nil {
			return err
		}
	}
	c.LastLines = 0
	return nil
}

// numbered is what logging libraries put behind the name of a file that they
// roll; they put a date there too, which shows beside the file itself only.
var numbered = regexp.MustCompile(`\.\d+$`)

// family are files of which each was rolled to the one before it.
type family struct {
	base  string // the name of the one that is being written
	files []FileInfo
}

// families groups files with those that they were rolled to, "stderr" with
// "stderr.1", each in the order in which they were written.
func families(listed []FileInfo) []family {
	byBase := map[string][]FileInfo{}
	var bases []string
	for _, file := range listed {
		base := numbered.ReplaceAllString(file.Name, "")
		for _, other := range listed {
			if strings.HasPrefix(file.Name, other.Name+".") && len(other.Name) < len(base) {
				base = other.Name
			}
		}
		if byBase[base] == nil {
			bases = append(bases, base)
		}
		byBase[base] = append(byBase[base], file)
	}
	slices.SortFunc(bases, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	var all []family
	for _, base := range bases {
		files := byBase[base]
		slices.SortStableFunc(files, func(a, b FileInfo) int {
			return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(age(b.Name, base), age(a.Name, base)), cmp.Compare(a.Name, b.Name))
		})
		all = append(all, family{base, files})
	}
	return all
}

// age is the number behind a file's name, the higher the older; -1 for the one
// that is being written.
func age(name, base string) int {
	if name == base {
		return -1
	}
	number, err := strconv.Atoi(strings.TrimPrefix(name, base+"."))
	if err != nil {
		return 0
	}
	return number
}

// known is what was read of a family's files.
func (c *Tail) known(family family) []*tailedFile {
	var known []*tailedFile
	for _, state := range c.files {
		if state.base == family.base && state.offset > 0 {
			known = append(known, state)
		}
	}
	return known
}

// looksMoved tells whether files may have other names than before: one is
// shorter than what was read of it, or a name is new beside others that are known.
func (c *Tail) looksMoved(family family) bool {
	fresh := false
	for _, file := range family.files {
		if state := c.files[file.Name]; state == nil {
			fresh = true
		} else if file.Size < state.offset {
			return true
		}
	}
	return fresh && len(c.known(family)) > 0
}

// readFiles reads on in each file; ErrShorter where one is not what it was.
func (c *Tail) readFiles(ctx context.Context, source Source, family family) error {
	for _, file := range family.files {
		state := c.files[file.Name]
		if state == nil {
			state = &tailedFile{name: file.Name, base: family.base}
			if c.LastLines > 0 {
				offset, err := startOfLines(ctx, source, file, c.LastLines)
				if err != nil {
					return err
				}
				state.offset = offset
			}
			c.files[file.Name] = state
		}
		if file.Size == state.offset {
			continue
		}
		if err := c.readOn(ctx, source, file, state); err != nil {
			return err
		}
	}
	return nil
}

// startOfLines finds where the last lines of a file begin.
func startOfLines(ctx context.Context, source Source, file FileInfo, lines int) (int64, error) {
	for size := int64(lines) * guessedLine; ; size *= 8 {
		from := max(0, file.Size-size)
		content, err := source.Open(ctx, file.Name, file.Size, from)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(io.LimitReader(content, file.Size-from))
		if err = errors.Join(err, content.Close()); err != nil {
			return 0, err
		}
		at := len(text)
		for missing := lines; at > 0 && missing > 0; missing-- {
			at = bytes.LastIndexByte(text[:at-1], '\n') + 1
			if at == 0 && from > 0 {
				break // the line begins before
			}
		}
		if at > 0 || from == 0 {
			return from + int64(at), nil
		}
	}
}

// isSame tells whether a file begins with what was read of one.
func isSame(ctx context.Context, source Source, file FileInfo, state *tailedFile) (bool, error) {
	if file.Size < state.offset {
		return false, nil
	}
	content, err := openAgain(ctx, source, file, state)
	if errors.Is(err, ErrShorter) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, content.Close()
}

// openAgain opens a file where its reading ended; ErrShorter where what stands
// before that is not what was read.
func openAgain(ctx context.Context, source Source, file FileInfo, state *tailedFile) (io.ReadCloser, error) {
	if file.Size < state.offset {
		return nil, ErrShorter
	}
	content, err := source.Open(ctx, file.Name, file.Size, state.offset-int64(len(state.last)))
	if err != nil {
		return nil, err
	}
	found := make([]byte, len(state.last))
	_, err = io.ReadFull(content, found)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err == nil && !bytes.Equal(found, state.last):
		return nil, errors.Join(ErrShorter, content.Close())
	case err != nil:
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// recognize gives files that were renamed or copied what is known of them. A
// file that nobody knows is new, and one that is gone has ended; unless certain,
// one that is gone is looked for again (ErrShorter).
func (c *Tail) recognize(ctx context.Context, source Source, family family, certain bool) error {
	found := map[string]*tailedFile{}
	known := c.known(family)
	var left []*tailedFile // those whose file is not found yet
	for _, state := range known {
		at := slices.IndexFunc(family.files, func(file FileInfo) bool { return file.Name == state.name })
		same := false
		if at >= 0 {
			var err error
			if same, err = isSame(ctx, source, family.files[at], state); err != nil {
				return err
			}
		}
		if same {
			found[state.name] = state
		} else {
			left = append(left, state)
		}
	}
	for _, file := range family.files {
		if found[file.Name] != nil {
			continue
		}
		state, err := c.whose(ctx, source, file, &left, found)
		if err != nil {
			return err
		}
		if state != nil {
			found[file.Name] = state
		}
	}
	if len(left) > 0 && !certain {
		return ErrShorter
	}
	for _, gone := range left {
		if err := c.end(gone); err != nil {
			return err
		}
	}
	for _, state := range known {
		delete(c.files, state.name)
	}
	for _, file := range family.files {
		delete(c.files, file.Name)
		if state := found[file.Name]; state != nil {
			state.name = file.Name
			c.files[file.Name] = state
		}
	}
	return nil
}

// whose finds what is known of a file with a name that is new to it: it was
// renamed, or it is the copy of one.
func (c *Tail) whose(ctx context.Context, source Source, file FileInfo, left *[]*tailedFile, found map[string]*tailedFile) (*tailedFile, error) {
	for i, state := range *left {
		same, err := isSame(ctx, source, file, state)
		if err != nil {
			return nil, err
		}
		if same {
			*left = slices.Delete(*left, i, i+1)
			return state, nil
		}
	}
	for _, state := range found {
		same, err := isSame(ctx, source, file, state)
		if err != nil {
			return nil, err
		}
		if same {
			return &tailedFile{base: state.base, offset: state.offset, last: slices.Clone(state.last)}, nil
		}
	}
	return nil, nil
}

// readOn gives the lines that a file has beyond what was read.
func (c *Tail) readOn(ctx context.Context, source Source, file FileInfo, state *tailedFile) error {
	content, err := openAgain(ctx, source, file, state)
	if err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = content.Read(buffer)
		if n > 0 {
			if failure := c.take(state, buffer[:n]); failure != nil {
				return errors.Join(failure, content.Close())
			}
		}
	}
	return errors.Join(ignoreEOF(err), content.Close())
}

// take gives the lines that end in a piece of a file.
func (c *Tail) take(state *tailedFile, piece []byte) error {
	state.offset += int64(len(piece))
	state.last = append(state.last, piece...)
	if over := len(state.last) - memory; over > 0 {
		state.last = append([]byte(nil), state.last[over:]...)
	}
	for {
		line, rest, ended := bytes.Cut(piece, []byte{'\n'})
		if !ended {
			state.partial = append(state.partial, piece...)
			if len(state.partial) > maxLine {
				return c.flush(state)
			}
			return nil
		}
		state.partial = append(state.partial, line...)
		if err := c.flush(state); err != nil {
			return err
		}
		piece = rest
	}
}

// flush gives what there is of a line.
func (c *Tail) flush(state *tailedFile) error {
	err := c.line(state.name, bytes.TrimSuffix(state.partial, []byte{'\r'}))
	state.partial = state.partial[:0]
	if err != nil {
		return &WriteError{err}
	}
	return nil
}

// end gives a line that its file's end has cut off.
func (c *Tail) end(state *tailedFile) error {
	if len(state.partial) == 0 {
		return nil
	}
	return c.flush(state)
}

// close gives all lines that have no end.
func (c *Tail) Close() error {
	var errs []error
	for _, state := range c.files {
		errs = append(errs, c.end(state))
	}
	return errors.Join(errs...)
}

// LastLines keeps the last lines of what r gives.
func LastLines(r io.Reader, lines int) (io.Reader, error) {
	ring := make([][]byte, 0, lines)
	next := 0
	reader := bufio.NewReader(r)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			if len(ring) < lines {
				ring = append(ring, line)
			} else {
				ring[next], next = line, (next+1)%lines
			}
		}
		if errors.Is(err, io.EOF) {
			return bytes.NewReader(bytes.Join(append(ring[next:len(ring):len(ring)], ring[:next]...), nil)), nil
		}
		if err != nil {
			return nil, err
		}
	}
}
