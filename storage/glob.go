package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
)

// Glob returns the files and directories that match pattern, sorted by path. As in Hadoop, *
// matches any text within a name, ? one character, [a-z] one character in the range, [^a-z] one
// character outside of it, and {a,b} one of several patterns, which may contain slashes. A
// backslash makes the next character match itself. If the pattern, read as a path, names an
// existing file or directory, Glob returns only that one.
//
// Glob fails with fs.ErrNotExist if nothing matches.
func (f *Files) Glob(ctx context.Context, pattern string) ([]Info, error) {
	g := glob{}
	matches, err := g.find(ctx, f, pattern)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, len(matches))
	for i, m := range matches {
		infos[i] = m.Info
	}
	return infos, nil
}

// glob finds files and directories that match a pattern.
type glob struct {
	withBlocks bool // also fetch the locations of files' blocks
	visible    bool // skip names that begin with _ or ., unless the pattern begins with that character
}

// locatedEntry is a file or directory and its location.
type locatedEntry struct {
	location
	entry
}

func (g glob) find(ctx context.Context, f *Files, pattern string) ([]locatedEntry, error) {
	l, err := f.resolveFor(ctx, pattern)
	if err != nil {
		return nil, err
	}
	e, err := l.system.stat(ctx, l.path, g.withBlocks)
	if err == nil {
		return []locatedEntry{{l, e}}, nil
	}
	if !isPattern(l.path) || !errors.Is(err, fs.ErrNotExist) {
		return nil, l.withLocalHint(err)
	}
	if !doublestar.ValidatePattern(l.path) {
		return nil, &fs.PathError{Op: "glob", Path: l.uri(), Err: errors.New("is not a valid pattern: an open [ or { may be missing its end")}
	}
	var found []locatedEntry
	for _, alternative := range alternatives(l.path) {
		matches, err := g.matchBelow(ctx, l.at("/"), strings.Split(path.Clean(alternative)[1:], "/"))
		if err != nil {
			return nil, err
		}
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b locatedEntry) int { return strings.Compare(a.path, b.path) })
	found = slices.CompactFunc(found, func(a, b locatedEntry) bool { return a.path == b.path })
	if len(found) == 0 {
		return nil, l.withLocalHint(&fs.PathError{Op: "glob", Path: l.uri(), Err: noMatchError{}})
	}
	return found, nil
}

type noMatchError struct{}

func (noMatchError) Error() string        { return "no file or directory matches the pattern" }
func (noMatchError) Is(target error) bool { return target == fs.ErrNotExist }

// isPattern reports whether name contains a character with a special meaning in patterns.
func isPattern(name string) bool { return strings.ContainsAny(name, `*?[{\`) }

// matchBelow returns the files and directories below directory that match a pattern. parts are
// the elements of the pattern between slashes. Each of them matches one name.
func (g glob) matchBelow(ctx context.Context, directory location, parts []string) ([]locatedEntry, error) {
	for len(parts) > 0 && !isPattern(parts[0]) {
		directory, parts = directory.child(parts[0]), parts[1:]
	}
	if len(parts) == 0 {
		e, err := directory.system.stat(ctx, directory.path, g.withBlocks)
		if missing(err) {
			return nil, nil
		}
		return []locatedEntry{{directory, e}}, err
	}
	last := len(parts) == 1
	entries, err := directory.system.list(ctx, directory.path, g.withBlocks && last)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []locatedEntry
	for _, e := range entries {
		matches, err := doublestar.Match(parts[0], e.Name)
		if err != nil {
			return nil, fmt.Errorf("%s: the pattern %q: %w", directory.uri(), parts[0], err)
		}
		if !matches || g.visible && isHidden(e.Name) && e.Name[0] != parts[0][0] {
			continue
		}
		at := directory.child(e.Name)
		if last {
			found = append(found, locatedEntry{at, e})
		} else if e.Dir {
			inner, err := g.matchBelow(ctx, at, parts[1:])
			if err != nil {
				return nil, err
			}
			found = append(found, inner...)
		}
	}
	return found, nil
}

// missing reports whether err means that a path does not exist, or that an element of the path
// before the last is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, namenode.ErrNotDirectory) || errors.Is(err, syscall.ENOTDIR)
}

// alternatives expands the braces of a pattern that contain slashes, because matchBelow divides
// patterns at slashes. For {a/b,c} it returns a/b and c. It does not expand braces without
// slashes. The pattern must be valid.
func alternatives(pattern string) []string {
	start, from, depth, slash := 0, 0, 0, false
	var choices []string
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				start, from, choices, slash = i, i+1, nil, false
			}
		case '/':
			slash = slash || depth > 0
		case ',', '}':
			if depth == 1 {
				choices = append(choices, pattern[from:i])
				from = i + 1
			}
			if pattern[i] != '}' || depth == 0 {
				continue
			}
			if depth--; depth > 0 || !slash {
				continue
			}
			var all []string
			for _, choice := range choices {
				all = append(all, alternatives(pattern[:start]+choice+pattern[i+1:])...)
			}
			return all
		}
	}
	return []string{pattern}
}
