//go:build integration

// Package formats_test checks that Hadoop, Avro for Java, pyarrow, DuckDB and Spark can read
// files that data sets have saved.
package formats_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/avro"
	"github.com/bobbin-yarn/bobbin/dataset/sequencefile"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

type leg struct {
	From string `avro:"from"`
	Key  [2]byte
}

type trip struct {
	ID     int64            `avro:"id"`
	Note   *string          `avro:"note"`
	Price  string           `avro:"price,decimal(10,2)"`
	At     time.Time        `avro:"at"`
	Day    time.Time        `avro:"day,date"`
	Legs   []leg            `avro:"legs"`
	Counts map[string]int32 `avro:"counts"`
	Ratio  float64          `avro:"ratio"`
}

var (
	trips = dataset.Define("trips", func(p *dataset.Plan, n int64) *dataset.Of[trip] {
		return dataset.Map(dataset.Range(p, 0, n, 1), func(i int64) trip {
			t := trip{
				ID: i, Price: fmt.Sprintf("%d.50", i), At: time.UnixMicro(1_700_000_000_000_000 + i), Day: time.Unix(86_400*i, 0),
				Legs: []leg{{From: "ä", Key: [2]byte{1, 2}}, {From: "b"}}, Counts: map[string]int32{"a": int32(i)}, Ratio: float64(i) / 4,
			}
			if i%2 == 1 {
				t.Note = &t.Price
			}
			return t
		})
	})
	pairs = dataset.Define("pairs", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[int64, string]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 1), func(i int64) (int64, string) { return i << 33, fmt.Sprint("ä ", i) })
	})
	counts = dataset.Define("counts", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[struct{}, int32]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 1), func(i int64) (struct{}, int32) { return struct{}{}, int32(-i) })
	})
	contents = dataset.Define("contents", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[[]byte, bool]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 1), func(i int64) ([]byte, bool) { return []byte{0, byte(i)}, i == 1 })
	})
)

// prices are the expected unscaled prices of trips, in the form in which Avro for Java prints
// bytes.
var prices = []string{"2", `\u0000\u0096`, `\u0000ú`}

// TestJavaReadsSavedFiles does not test zstd and lz4: Hadoop's codecs need a native library,
// which is not in Hadoop's jars.
func TestJavaReadsSavedFiles(t *testing.T) {
	jars, err := cluster.Jars(t.Context(), cluster.DefaultHadoopVersion, slog.Default())
	require.NoError(t, err)
	requireJavaReads(t, jars, []string{"", "deflate", "snappy", "bzip2"}, []string{"", "deflate", "gzip", "bzip2", "snappy"})
}

// requireJavaReads saves Avro files and SequenceFiles with each codec, and checks that the Java
// readers in jars can read them.
func requireJavaReads(t *testing.T, jars, avroCodecs, sequenceCodecs []string) {
	directory := t.TempDir()
	var files []string
	var want strings.Builder
	save := func(name, part string, err error, lines func()) {
		require.NoError(t, err, name)
		files = append(files, filepath.Join(directory, name, part))
		want.WriteString(name + "\n")
		lines()
	}
	require.NoError(t, bobbin.RunLocal(t.Context(), "local", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		path := func(name string) string { return filepath.Join(directory, name) }
		for _, codec := range avroCodecs {
			name := "avro" + codec
			err := trips.With(session, 3).Save(ctx, path(name), avro.Format, dataset.Compress(codec))
			save(name, "part-00000.avro", err, func() {
				for i := range 3 {
					note := "null"
					if i%2 == 1 {
						note = fmt.Sprintf(`"%d.50"`, i)
					}
					fmt.Fprintf(&want, `{"id": %d, "note": %s, "price": "%s", "at": %d, "day": %d, `, i, note, prices[i], 1_700_000_000_000_000+i, i)
					fmt.Fprintf(&want, `"legs": [{"from": "ä", "Key": [1, 2]}, {"from": "b", "Key": [0, 0]}], "counts": {"a": %d}, "ratio": %v}`+"\n",
						i, []string{"0.0", "0.25", "0.5"}[i])
				}
			})
		}
		for _, codec := range sequenceCodecs {
			for _, options := range [][]dataset.SaveOption{nil, {sequencefile.RecordCompression()}} {
				if codec == "" && options != nil {
					continue
				}
				const n = 20_000 // an uncompressed file of this size has several sync markers
				name := fmt.Sprint("sequence", codec, len(options))
				records := int64(n)
				if options != nil {
					records = 20
				}
				err := pairs.With(session, records).Save(ctx, path(name), sequencefile.Format, append(options, dataset.Compress(codec))...)
				save(name, "part-00000", err, func() {
					for i := range records {
						fmt.Fprintf(&want, "%d\tä %d\n", i<<33, i)
					}
				})
			}
		}
		err = counts.With(session, 3).Save(ctx, path("null"), sequencefile.Format, dataset.Compress("snappy"))
		save("null", "part-00000", err, func() { want.WriteString("(null)\t0\n(null)\t-1\n(null)\t-2\n") })
		err = contents.With(session, 2).Save(ctx, path("bytes"), sequencefile.Format)
		save("bytes", "part-00000", err, func() { want.WriteString("00 00\tfalse\n00 01\ttrue\n") })
		return nil
	}))

	java := exec.CommandContext(t.Context(), "java", append([]string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dstdout.encoding=UTF-8", "-cp", strings.Join(jars, ":"), "ReadFiles.java",
	}, files...)...)
	var errors bytes.Buffer
	java.Stderr = &errors
	got, err := java.Output()
	require.NoError(t, err, "%s", &errors)
	require.Equal(t, strings.Split(want.String(), "\n"), strings.Split(string(got), "\n"))
}
