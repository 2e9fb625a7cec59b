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

// tailedFile is the position of a Tail in a growing log file.
type tailedFile struct {
	name    string
	base    string // name of the current log file; a rolled file has this name with a suffix
	offset  int64  // number of bytes read
	last    []byte // last bytes that were read, by which recognize finds a renamed file
	partial []byte // incomplete last line, which was not passed on yet
}

const (
	// signatureBytes is the number of bytes that are compared to recognize a file.
	signatureBytes = 256
	// maxLine is the maximum length in bytes of a line. Tail passes on longer lines in pieces.
	maxLine = 1 << 20
)

// Tail reads the log files of one container while they grow. Programs may roll a log file: they
// rename the file, and create a new file with the old name. Tail recognizes a renamed file by the
// last bytes that it has read from the file, so that it neither skips nor repeats lines.
type Tail struct {
	files map[string]*tailedFile
	line  func(file string, text []byte) error
	skip  func(name string) bool
	// LastLines is the number of last lines of each file that the first Read passes on; 0 means all
	// lines.
	LastLines int
}

// WriteError wraps an error of the function that receives the lines.
type WriteError struct{ Err error }

func (w *WriteError) Error() string { return w.Err.Error() }
func (w *WriteError) Unwrap() error { return w.Err }

// NewTail returns a Tail that calls the function line with each line, without its line end. It
// ignores files for which the function skip returns true.
func NewTail(line func(file string, text []byte) error, skip func(name string) bool) *Tail {
	return &Tail{files: map[string]*tailedFile{}, line: line, skip: skip}
}

// listAttempts is the maximum number of times that one Read lists the files. Read lists the files
// again if programs have rolled files since the last listing.
const listAttempts = 3

// Read passes on the lines that were written since the last call.
func (t *Tail) Read(ctx context.Context, source Source) error {
	for attempt := range listAttempts {
		err := t.readOnce(ctx, source, attempt)
		if !errors.Is(err, ErrChanged) {
			return err
		}
	}
	return nil // the next Read recognizes the renamed files
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

// rolledFamily is a log file with the rolled files that contain its older lines.
type rolledFamily struct {
	base  string // name of the log file that programs write
	files []FileInfo
}

// groupRolled groups the listed files into families, such as "stderr.1" and "stderr". The files of
// each family are sorted, the oldest first. A file whose suffix is not a number, but for example a
// date, is a rolled file only if a file with the name before the suffix is also listed.
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

// rolledAge returns the number in the name of a rolled file. Older files have higher numbers. It
// returns -1 for the current file, and 0 for a rolled file without a number.
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

// known returns the states of the files of a family that were read before.
func (t *Tail) known(family rolledFamily) []*tailedFile {
	var known []*tailedFile
	for _, state := range t.files {
		if state.base == family.base && state.offset > 0 {
			known = append(known, state)
		}
	}
	return known
}

// looksMoved reports whether programs may have renamed files of the family. This is so if a file is
// shorter than the part that was read, or if there is a file with a new name.
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

// readFiles reads the new part of each file. If a file is not the file that was read before under
// the same name, readFiles fails with ErrChanged.
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

// StartOfLines returns the byte offset at which the last lines of a listed file begin.
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
				break // the first of the lines begins before the part that was read
			}
		}
		if start > 0 || from == 0 {
			return from + int64(start), nil
		}
	}
}

// isSame reports whether file, perhaps after a rename, is the file that state describes. This is so
// if the file's bytes directly before state.offset are equal to state.last.
func isSame(ctx context.Context, source Source, file FileInfo, state *tailedFile) (bool, error) {
	if file.Size < state.offset {
		return false, nil
	}
	content, err := openAgain(ctx, source, file, state)
	if errors.Is(err, ErrChanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, content.Close()
}

// openAgain opens a file at state.offset, the end of the part that was read. It fails with
// ErrChanged if the bytes before the offset differ from state.last.
func openAgain(ctx context.Context, source Source, file FileInfo, state *tailedFile) (io.ReadCloser, error) {
	if file.Size < state.offset {
		return nil, ErrChanged
	}
	content, err := source.Open(ctx, file.Name, file.Size, state.offset-int64(len(state.last)))
	if err != nil {
		return nil, err
	}
	text := make([]byte, len(state.last))
	_, err = io.ReadFull(content, text)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err == nil && !bytes.Equal(text, state.last):
		return nil, errors.Join(ErrChanged, content.Close())
	case err != nil:
		return nil, errors.Join(err, content.Close())
	}
	return content, nil
}

// recognize matches the listed files with the known files by content, because log rotation may
// have renamed or copied them. A listed file that matches no known file is new. If no listed file
// matches a known file, recognize fails with ErrChanged, so that the caller lists the files again;
// but if final is true, the known file counts as ended.
func (t *Tail) recognize(ctx context.Context, source Source, family rolledFamily, final bool) error {
	matched := map[string]*tailedFile{}
	known := t.known(family)
	var unmatched []*tailedFile // known files that were not found yet
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
		return ErrChanged
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

// findOrigin returns the state of the known file that was renamed or copied to the given file. It
// returns nil if there is none.
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

// readMore passes on the lines after the part of the file that was read.
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

// addBytes appends piece, the next bytes of a file, to state, and passes on the lines that are now
// complete.
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

// end passes on the last line of a file if the line has no line end.
func (t *Tail) end(state *tailedFile) error {
	if len(state.partial) == 0 {
		return nil
	}
	return t.flush(state)
}

// Close passes on the last line of each file whose last line has no line end.
func (t *Tail) Close() error {
	var errs []error
	for _, state := range t.files {
		errs = append(errs, t.end(state))
	}
	return errors.Join(errs...)
}

// LastLines returns a reader of the last lines of r. It reads r to the end.
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
