//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/storage"
)

// countedText is the path of a text in HDFS, and the expected counts of its words, which were
// computed without bobbin.
type countedText struct {
	path  string
	words map[string]int64
}

const corpusBytes = 48 << 20

// goSources writes the sources of the Go distribution to HDFS, once for all tests.
var goSources = sync.OnceValues(func() (countedText, error) {
	ctx := context.Background()
	path := shared.data + "/sources.txt"
	var content bytes.Buffer
	if _, err := text.WriteGoSources(ctx, &content, corpusBytes); err != nil {
		return countedText{}, err
	}
	c := countedText{path: path, words: text.Count(content.Bytes())}
	return c, shared.put(ctx, path, content.Bytes())
})

func sourcesText(t *testing.T) countedText {
	t.Helper()
	c, err := goSources()
	require.NoError(t, err)
	return c
}

func (s *suite) put(ctx context.Context, path string, content []byte) error {
	file, err := s.files.Create(ctx, path, storage.Overwrite())
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Abort() // the error above is reported instead
		return err
	}
	return file.Close()
}

// outputPath returns a new path in HDFS for the output of a test.
func outputPath(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	return fmt.Sprintf("%s/out/%s-%08x", shared.data, name, rand.Uint32())
}

// assertCounts checks that the part files in the directory dir contain the counts want.
func assertCounts(t *testing.T, want map[string]int64, dir string) {
	t.Helper()
	shared.assertCounts(t, want, dir)
}

func (s *suite) assertCounts(t *testing.T, want map[string]int64, dir string) {
	t.Helper()
	got, err := text.ReadCounts(t.Context(), s.files, dir)
	require.NoError(t, err)
	assert.Empty(t, text.Difference(want, got))
	_, err = s.files.Stat(t.Context(), dir+"/_SUCCESS")
	assert.NoError(t, err)
}
