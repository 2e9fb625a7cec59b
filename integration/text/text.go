// Package text writes the source files of the Go distribution as one text, counts its words
// without bobbin, and reads the output of wordcount.
package text

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/storage"
)

// errEnough stops the directory walk of WriteGoSources when the text is long enough.
var errEnough = errors.New("enough text")

// WriteGoSources writes the source files of the Go distribution to w, in the order of their
// paths. It stops after the file with which the text has at least limit bytes. It returns the
// number of written bytes.
func WriteGoSources(ctx context.Context, w io.Writer, limit int64) (int64, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return 0, fmt.Errorf("go env GOROOT: %w", err)
	}
	var written int64
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() || !slices.Contains([]string{".go", ".s", ".txt", ".md"}, filepath.Ext(path)) {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n, err := w.Write(source)
		written += int64(n)
		if err == nil && written >= limit {
			err = errEnough
		}
		return errors.Join(err, ctx.Err())
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return written, err
}

// Count returns the number of occurrences of each word in text. Words are separated by white
// space.
func Count(text []byte) map[string]int64 {
	counts := map[string]int64{}
	for word := range bytes.FieldsSeq(text) {
		counts[string(word)]++
	}
	return counts
}

// ReadCounts returns the word counts in the part files that wordcount has written to the
// directory dir. It fails if two lines contain the same word.
func ReadCounts(ctx context.Context, files *storage.Files, dir string) (map[string]int64, error) {
	entries, err := files.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	counts := map[string]int64{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "_") || strings.HasPrefix(entry.Name, ".") {
			continue
		}
		file, err := files.Open(ctx, entry.Path)
		if err != nil {
			return nil, err
		}
		if err = errors.Join(readPart(file, counts), file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Path, err)
		}
	}
	return counts, nil
}

func readPart(file io.Reader, counts map[string]int64) error {
	lines := bufio.NewReaderSize(file, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		word, count, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.ParseInt(count, 10, 64)
		if !found || err != nil {
			return fmt.Errorf("line %d: %q is no word<TAB>count", number, line)
		}
		if _, twice := counts[word]; twice {
			return fmt.Errorf("line %d: %q has two lines", number, word)
		}
		counts[word] = n
	}
}

// Top returns the n most frequent words in descending order of their counts. Words with the
// same count are in alphabetical order.
func Top(counts map[string]int64, n int) []string {
	before := func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	}
	top := make([]string, 0, n+1)
	for word := range counts {
		if len(top) == n && (n == 0 || before(word, top[n-1]) > 0) {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, word, before)
		top = slices.Insert(top, at, word)
		top = top[:min(n, len(top))]
	}
	return top
}

// Difference returns a description of the differences between want and got, or "" if they are
// equal.
func Difference(want, got map[string]int64) string {
	if maps.Equal(want, got) {
		return ""
	}
	var differ []string
	for word := range want {
		if got[word] != want[word] {
			differ = append(differ, fmt.Sprintf("%q is there %d times, counted %d", word, want[word], got[word]))
		}
	}
	for word := range got {
		if _, there := want[word]; !there {
			differ = append(differ, fmt.Sprintf("%q is not there, counted %d", word, got[word]))
		}
	}
	slices.Sort(differ)
	return fmt.Sprintf("%d words differ: %s", len(differ), strings.Join(differ[:min(5, len(differ))], "; "))
}
