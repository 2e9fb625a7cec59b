package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/role"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// run runs a driver function on a local master.
func run(t *testing.T, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	runWith(t, map[string]string{"master": "local[2]"}, f)
}

// runWith runs a driver function with settings.
func runWith(t *testing.T, values map[string]string, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	settings, err := config.Default().With(values)
	require.NoError(t, err)
	require.NoError(t, role.RunLocal(t.Context(), settings, func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		f(ctx, session)
		return nil
	}))
}

var wordCount = dataset.Define("word count", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
	counts := dataset.Count(dataset.FlatMap(dataset.Text(p, in, dataset.SplitSize(0)), bytes.FieldsSeq))
	return dataset.Map(counts, func(e dataset.KV[[]byte, int64]) []byte { return fmt.Appendf(nil, "%s\t%d", e.Key, e.Value) })
})

func TestWordCount(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	text := strings.Repeat("to be or not to be\n", 500)
	require.NoError(t, os.WriteFile(filepath.Join(in, "text"), []byte(text), 0o600))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, wordCount.With(session, in).Save(ctx, out, dataset.AsText))
		var stages []driver.StageInJob
		for _, job := range role.FromContext(session.Context()).Driver.Status().Jobs {
			stages = append(stages, *job.Stage)
		}
		require.Equal(t, []driver.StageInJob{{Job: 1, Name: "word count", Number: 1, Of: 2}, {Job: 1, Name: "word count", Number: 2, Of: 2}}, stages)
	})
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	require.NoError(t, err)
	var lines []string
	for _, part := range parts {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		lines = append(lines, strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")...)
	}
	slices.Sort(lines)
	require.Equal(t, []string{"be\t1000", "not\t500", "or\t500", "to\t1000"}, lines)
}
