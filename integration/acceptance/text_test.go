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

// corpus is a text in HDFS with a count of its words made without bobbin.
type corpus struct {
	path  string
	words map[string]int64
}

const corpusBytes = 48 << 20

// sources puts the Go distribution's sources into HDFS once for all tests,
// with blocks on both nodes.
var sources = sync.OnceValues(func() (corpus, error) {
	ctx := context.Background()
	path := shared.data + "/sources.txt"
	var content bytes.Buffer
	if _, err := text.WriteGoSources(ctx, &content, corpusBytes); err != nil {
		return corpus{}, err
	}
	const tries = 5
	for range tries {
		if err := shared.put(ctx, path, content.Bytes()); err != nil {
			return corpus{}, err
		}
		spread, err := spreads(ctx, path)
		if err != nil {
			return corpus{}, err
		}
		if spread {
			return corpus{path: path, words: text.Count(content.Bytes())}, nil
		}
	}
	return corpus{}, fmt.Errorf("the blocks of %s lie on one node after %d tries", path, tries)
})

func sourcesText(t *testing.T) corpus {
	t.Helper()
	c, err := sources()
	require.NoError(t, err)
	return c
}

// spreads tells whether each node holds half its share of a file's blocks or
// more: with two nodes a quarter.
func spreads(ctx context.Context, path string) (bool, error) {
	blocks, err := shared.files.Splits(ctx, path, storage.SplitOptions{})
	if err != nil {
		return false, err
	}
	on := map[string]int{}
	for _, block := range blocks {
		on[block.Hosts[0]]++ // the others hold less of it
	}
	nodes := shared.hadoop.Nodes()
	for _, node := range nodes {
		if 2*len(nodes)*on[node.Host] < len(blocks) {
			return false, nil
		}
	}
	return true, nil
}

func (s *suite) put(ctx context.Context, path string, content []byte) error {
	file, err := s.files.Create(ctx, path, storage.Overwrite())
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		_ = file.Abort() // the first error tells more
		return err
	}
	return file.Close()
}

// output names a directory of HDFS that no other test has.
func output(t *testing.T) string {
	t.Helper()
	name := strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())
	return fmt.Sprintf("%s/out/%s-%08x", shared.data, name, rand.Uint32())
}

// assertCounts checks the part files in dir.
func assertCounts(t *testing.T, want map[string]int64, dir string) {
	t.Helper()
	got, err := text.ReadCounts(t.Context(), shared.files, dir)
	require.NoError(t, err)
	assert.Empty(t, text.Difference(want, got))
	_, err = shared.files.Stat(t.Context(), dir+"/_SUCCESS")
	assert.NoError(t, err)
}
