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

// tailedFile records how far Tail has read a growing log file.
type tailedFile struct {
	name    string
	base    string // name of the file that is being written, from which this one may be rolled
	offset  int64  // number of bytes read
	last    []byte // the last bytes read, by which the file is recognized
	partial []byte // an incomplete last line, not passed on yet
}

const (
	// signatureBytes is how many bytes are compared to recognize a file.
	signatureBytes = 256
	// maxLine bounds a line, in bytes; longer ones are passed on in pieces.
	maxLine = 1 << 20
)

// Tail reads one container's log files while they grow. A file may be rolled, that is,
// renamed and replaced by a new file with the old name. Tail recognizes a renamed file by
// the last bytes read from it, so that no lines are lost or repeated.
type Tail struct {
	files map[string]*tailedFile
	line  func(file string, text []byte) error
	skip  func(name string) bool
	// LastLines is how many lines of each file the first Read passes on; 0 means all.
	LastLines int
}

// WriteError is an error of the function that receives the lines.
type WriteError struct{ Err error }

func (w *WriteError) Error() string { return w.Err.Error() }
func (w *WriteError) Unwrap() error { return w.Err }

// NewTail returns a Tail that calls line with each line, without the line end, of
// files for which skip returns false.
func NewTail(line func(file string, text []byte) error, skip func(name string) bool) *Tail {
	return &Tail{files: map[string]*tailedFile{}, line: line, skip: skip}
}

// listAttempts is how often one Read lists the files at most. Read lists them again if files
// were rolled after they were listed.
const listAttempts = 3

// Read passes on the lines written since the last call.
func (t *Tail) Read(ctx context.Context, source Source) error {
	for attempt := range listAttempts {
		err := t.readOnce(ctx, source, attempt)
		if !errors.Is(err, ErrShorter) {
			return err
		}
	}
	return nil // the next Read recognizes the file
}

func (t *Tail) readOnce(ctx context.Context, source Source, attempt int) error {
	listed, err := source.List(ctx)
	if err != nil {
		return err
	}
	listed = slices.DeleteFunc(listed, func(f FileInfo) bool { return t.skip(f.Name) })
	for _, family := range groupRolled(listed) {
		if attempt > 0 || t.looksMoved(family) {
			if err := t.recognize(ctx, source, family, attempt == listAttempts-1); err != nil {
				return err
			}
		}
		if err := t.readFiles(ctx, source, family); err != nil {
			return err
		}
	}
	t.LastLines = 0
	return nil
}

// rolledSuffix matches the number that logging libraries append to the names of rolled files.
var rolledSuffix = regexp.MustCompile(`\.\d+$`)

// rolledFamily is a log file and the rolled files that have its older lines.
type rolledFamily struct {
	base  string // the name of the current file
	files []FileInfo
}

// groupRolled groups each current file with the files rolled from it, such as
// "stderr.1" and "stderr", the oldest first. A file with another suffix, such as a date,
// counts as rolled only if a file with the name before the suffix is listed too.
func groupRolled(listed []FileInfo) []rolledFamily {
	byBase := map[string][]FileInfo{}
	var bases []string
	for _, file := range listed {
		base := rolledSuffix.ReplaceAllString(file.Name, "")
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
	var result []rolledFamily
	for _, base := range bases {
		files := byBase[base]
		slices.SortStableFunc(files, func(a, b FileInfo) int {
			return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(rolledAge(b.Name, base), rolledAge(a.Name, base)), cmp.Compare(a.Name, b.Name))
		})
		result = append(result, rolledFamily{base, files})
	}
	return result
}

// rolledAge returns the number in a rolled file's name, higher for older files; -1 for the
// current file, and 0 without a number.
func rolledAge(name, base string) int {
	if name == base {
		return -1
	}
	number, err := strconv.Atoi(strings.TrimPrefix(name, base+"."))
	if err != nil {
		return 0
	}
	return number
}

// known returns the files of a family that were read before.
func (t *Tail) known(family rolledFamily) []*tailedFile {
	var known []*tailedFile
	for _, state := range t.files {
		if state.base == family.base && state.offset > 0 {
			known = append(known, state)
		}
	}
	return known
}

// looksMoved reports whether files of the family may have been renamed. This is so if a file
// is shorter than the part of it that was read, or if there is a file with a new name.
func (t *Tail) looksMoved(family rolledFamily) bool {
	fresh := false
	for _, file := range family.files {
		if state := t.files[file.Name]; state == nil {
			fresh = true
		} else if file.Size < state.offset {
			return true
		}
	}
	return fresh && len(t.known(family)) > 0
}

// readFiles reads the new part of each file. It fails with ErrShorter if a file was replaced
// by another one.
func (t *Tail) readFiles(ctx context.Context, source Source, family rolledFamily) error {
	for _, file := range family.files {
		state := t.files[file.Name]
		if state == nil {
			state = &tailedFile{name: file.Name, base: family.base}
			if t.LastLines > 0 {
				offset, err := StartOfLines(ctx, source, file, t.LastLines)
				if err != nil {
					return err
				}
				state.offset = offset
			}
			t.files[file.Name] = state
		}
		if file.Size == state.offset {
			continue
		}
		if err := t.readMore(ctx, source, file, state); err != nil {
			return err
		}
	}
	return nil
}

// StartOfLines returns the offset at which the last lines of a listed file begin.
func StartOfLines(ctx context.Context, source Source, file FileInfo, lines int) (int64, error) {
	for size := int64(lines) * guessedLineBytes; ; size *= 8 {
		from := max(0, file.Size-size)
		content, err := source.Open(ctx, file.Name, file.Size, from)
		if err != nil {
			return 0, err
		}
		text, err := io.ReadAll(io.LimitReader(content, file.Size-from))
		if err = errors.Join(err, content.Close()); err != nil {
			return 0, err
		}
		start := len(text)
		for missing := lines; start > 0 && missing > 0; missing-- {
			start = bytes.LastIndexByte(text[:start-1], '\n') + 1
			if start == 0 && from > 0 {
				break // the first of the lines begins before this part
			}
		}
		if start > 0 || from == 0 {
			return from + int64(start), nil
		}
	}
}

// isSame reports whether file is the one that state describes, perhaps renamed: whether the
// bytes before state.offset are those in state.last.
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

// openAgain opens a file at state.offset, after the part that was read. It fails with
// ErrShorter if the bytes before the offset are not those in state.last.
func openAgain(ctx context.Context, source Source, file FileInfo, state *tailedFile) (io.ReadCloser, error) {
	if file.Size < state.offset {
		return nil, ErrShorter
	}
	content, err := source.Open(ctx, file.Name, file.Size, state.offset-int64(len(state.last)))
	if err != nil {
		return nil, err
	}
	text := make([]byte, len(state.last))
	_, err = io.ReadFull(content, text)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err == nil && !bytes.Equal(text, state.last):
		return nil, errors.Join(ErrShorter, content.Close())
	case err != nil:
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// recognize finds out by content which files are known ones, renamed or copied. Files with
// other content are new. If a known file is not found and final is false, recognize fails
// with ErrShorter, so that the files are listed again. If final is true, it takes the known
// file as ended.
func (t *Tail) recognize(ctx context.Context, source Source, family rolledFamily, final bool) error {
	matched := map[string]*tailedFile{}
	known := t.known(family)
	var unmatched []*tailedFile // not found yet
	for _, state := range known {
		i := slices.IndexFunc(family.files, func(file FileInfo) bool { return file.Name == state.name })
		same := false
		if i >= 0 {
			var err error
			if same, err = isSame(ctx, source, family.files[i], state); err != nil {
				return err
			}
		}
		if same {
			matched[state.name] = state
		} else {
			unmatched = append(unmatched, state)
		}
	}
	for _, file := range family.files {
		if matched[file.Name] != nil {
			continue
		}
		state, err := t.findOrigin(ctx, source, file, &unmatched, matched)
		if err != nil {
			return err
		}
		if state != nil {
			matched[file.Name] = state
		}
	}
	if len(unmatched) > 0 && !final {
		return ErrShorter
	}
	for _, gone := range unmatched {
		if err := t.end(gone); err != nil {
			return err
		}
	}
	for _, state := range known {
		delete(t.files, state.name)
	}
	for _, file := range family.files {
		delete(t.files, file.Name)
		if state := matched[file.Name]; state != nil {
			state.name = file.Name
			t.files[file.Name] = state
		}
	}
	return nil
}

// findOrigin returns the state of the known file that a file was renamed or copied
// from, or nil.
func (t *Tail) findOrigin(ctx context.Context, source Source, file FileInfo, unmatched *[]*tailedFile, matched map[string]*tailedFile) (*tailedFile, error) {
	for i, state := range *unmatched {
		same, err := isSame(ctx, source, file, state)
		if err != nil {
			return nil, err
		}
		if same {
			*unmatched = slices.Delete(*unmatched, i, i+1)
			return state, nil
		}
	}
	for _, state := range matched {
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

// readMore passes on the lines after the part that was read.
func (t *Tail) readMore(ctx context.Context, source Source, file FileInfo, state *tailedFile) error {
	content, err := openAgain(ctx, source, file, state)
	if err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for err == nil {
		var n int
		n, err = content.Read(buffer)
		if n > 0 {
			if failure := t.addBytes(state, buffer[:n]); failure != nil {
				return errors.Join(failure, content.Close())
			}
		}
	}
	return errors.Join(ignoreEOF(err), content.Close())
}

// addBytes adds piece, the next bytes of a file, to state, and passes on the lines that it
// completes.
func (t *Tail) addBytes(state *tailedFile, piece []byte) error {
	state.offset += int64(len(piece))
	state.last = append(state.last, piece...)
	if over := len(state.last) - signatureBytes; over > 0 {
		state.last = append([]byte(nil), state.last[over:]...)
	}
	for {
		line, rest, ended := bytes.Cut(piece, []byte{'\n'})
		if !ended {
			state.partial = append(state.partial, piece...)
			if len(state.partial) > maxLine {
				return t.flush(state)
			}
			return nil
		}
		state.partial = append(state.partial, line...)
		if err := t.flush(state); err != nil {
			return err
		}
		piece = rest
	}
}

func (t *Tail) flush(state *tailedFile) error {
	err := t.line(state.name, bytes.TrimSuffix(state.partial, []byte{'\r'}))
	state.partial = state.partial[:0]
	if err != nil {
		return &WriteError{err}
	}
	return nil
}

// end passes on the file's last line if that is incomplete, that is, has no line end.
func (t *Tail) end(state *tailedFile) error {
	if len(state.partial) == 0 {
		return nil
	}
	return t.flush(state)
}

// Close passes on the last line of each file that ends without a line end.
func (t *Tail) Close() error {
	var errs []error
	for _, state := range t.files {
		errs = append(errs, t.end(state))
	}
	return errors.Join(errs...)
}

// LastLines returns a reader of the last lines of r.
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
