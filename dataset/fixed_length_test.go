package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// fixedLength describes which records to read.
type fixedLength struct {
	Path   string
	Bytes  int
	Split  int64
	Sorted bool
}

var fixedRecords = dataset.Define("fixed length", func(p *dataset.Plan, in fixedLength) *dataset.Of[string] {
	records := dataset.FixedLength(p, in.Path, in.Bytes, dataset.SplitSize(in.Split))
	if in.Sorted {
		records = dataset.Sort(records)
	}
	return dataset.Map(records, func(record []byte) string { return string(record) })
})

func TestFixedLength(t *testing.T) {
	var want []string
	var content []byte
	for i := range 100_000 {
		record := fmt.Sprintf("%06d\n", i)
		want, content = append(want, record), append(content, record...)
	}
	in := write(t, "records", string(content))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, split := range []int64{1, 7, 8, 70_001, 0} { // a split can be smaller than a record
			if split < 100 {
				short := write(t, "short", string(content[:700]))
				got, err := fixedRecords.With(session, fixedLength{Path: short, Bytes: 7, Split: split}).Collect(ctx)
				require.NoError(t, err)
				require.Equal(t, want[:100], got)
				continue
			}
			for _, sorted := range []bool{false, true} {
				got, err := fixedRecords.With(session, fixedLength{in, 7, split, sorted}).Collect(ctx)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
		for _, compression := range []string{"", "gzip", "zstd", "bzip2"} {
			out := filepath.Join(t.TempDir(), "out")
			records := fixedRecords.With(session, fixedLength{Path: in, Bytes: 7, Split: 70_001})
			require.NoError(t, records.Save(ctx, out, dataset.AsBytes, dataset.Compress(compression)))
			if compression == "" {
				var saved []byte
				parts, err := filepath.Glob(filepath.Join(out, "part-*"))
				require.NoError(t, err)
				for _, part := range parts {
					bytes, err := os.ReadFile(part)
					require.NoError(t, err)
					saved = append(saved, bytes...)
				}
				require.True(t, bytes.Equal(content, saved))
			}
			got, err := fixedRecords.With(session, fixedLength{Path: out, Bytes: 7}).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, want, got)
			if compression == "bzip2" {
				_, err := fixedRecords.With(session, fixedLength{Path: out, Bytes: 7, Split: 1000}).Collect(ctx)
				require.ErrorContains(t, err, "a part of a bzip2 file does not say where its records begin")
			}
		}
	})
}

func TestInvalidFixedLength(t *testing.T) {
	in := write(t, "cut", "123456789")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for split := int64(1); split < 10; split++ {
			_, err := fixedRecords.With(session, fixedLength{Path: in, Bytes: 4, Split: split}).Collect(ctx)
			require.ErrorContains(t, err, in+": the record at byte 8 has 1 bytes, not 4")
			require.ErrorContains(t, err, "failed once")
		}
		_, err := fixedRecords.With(session, fixedLength{Path: in}).Collect(ctx)
		require.ErrorContains(t, err, "FixedLength at fixed_length_test.go:26: the length of records is 0 bytes: want at least 1")
		err = fixedRecords.With(session, fixedLength{Path: in, Bytes: 3}).Save(ctx, t.TempDir()+"/out", dataset.AsText)
		require.NoError(t, err)
	})
}
