//go:build integration

// Package formats_test checks that Hadoop, Avro for Java, pyarrow, DuckDB and Spark can read
// files that data sets have saved, and data sets those of pyarrow and DuckDB.
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
	Done   bool             `avro:"done"`
	Weight float32          `avro:"weight"`
	Data   []byte           `avro:"data"`
	Took   time.Duration    `avro:"took"`
	UUID   string           `avro:"uuid,uuid"`
	Stops  *int32           `avro:"stops"`
}

// mood is written with a schema that has an enum.
type mood struct {
	Mood string `avro:"mood"`
}

const moodSchema = `{"type": "record", "name": "mood", "fields": [
	{"name": "mood", "type": {"type": "enum", "name": "moods", "symbols": ["GOOD", "BAD"]}}]}`

var (
	trips = dataset.Define("trips", func(p *dataset.Plan, n int64) *dataset.Of[trip] {
		return dataset.Map(dataset.Range(p, 0, n, 1), func(i int64) trip {
			t := trip{
				ID: i, Price: fmt.Sprintf("%d.50", i), At: time.UnixMicro(1_700_000_000_000_000 + i), Day: time.Unix(86_400*i, 0),
				Legs: []leg{{From: "ä", Key: [2]byte{1, 2}}, {From: "b"}}, Counts: map[string]int32{"a": int32(i)}, Ratio: float64(i) / 4,
				Done: i == 1, Weight: float32(i) / 8, Data: []byte{0, 'a', byte(i)}, Took: time.Duration(i) * time.Second,
				UUID: fmt.Sprintf("123e4567-e89b-12d3-a456-42661417400%d", i),
			}
			if i%2 == 1 {
				stops := int32(-i)
				t.Note, t.Stops = &t.Price, &stops
			}
			return t
		})
	})
	moods = dataset.Define("moods", func(p *dataset.Plan, _ struct{}) *dataset.Of[mood] {
		return dataset.Slice(p, []mood{{"BAD"}, {"GOOD"}}, 1)
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

// withSession calls f with a session on this machine.
func withSession(t *testing.T, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	require.NoError(t, bobbin.RunLocal(t.Context(), "local", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		f(ctx, session)
		return nil
	}))
}

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
	withSession(t, func(ctx context.Context, session *bobbin.Session) {
		path := func(name string) string { return filepath.Join(directory, name) }
		for _, codec := range avroCodecs {
			name := "avro" + codec
			err := trips.With(session, 3).Save(ctx, path(name), avro.Format, dataset.Compress(codec))
			save(name, "part-00000.avro", err, func() {
				for i := range 3 {
					note, stops := "null", "null"
					if i%2 == 1 {
						note, stops = fmt.Sprintf(`"%d.50"`, i), fmt.Sprint(-i)
					}
					fmt.Fprintf(&want, `{"id": %d, "note": %s, "price": "%s", "at": %d, "day": %d, `, i, note, prices[i], 1_700_000_000_000_000+i, i)
					fmt.Fprintf(&want, `"legs": [{"from": "ä", "Key": [1, 2]}, {"from": "b", "Key": [0, 0]}], "counts": {"a": %d}, "ratio": %s, `,
						i, []string{"0.0", "0.25", "0.5"}[i])
					fmt.Fprintf(&want, `"done": %v, "weight": %s, "data": "\u0000a\u000%d", "took": %d, `, i == 1, []string{"0.0", "0.125", "0.25"}[i], i, i*1_000_000)
					fmt.Fprintf(&want, `"uuid": "123e4567-e89b-12d3-a456-42661417400%d", "stops": %s}`+"\n", i, stops)
				}
			})
		}
		err := moods.With(session, struct{}{}).Save(ctx, path("enum"), avro.Format, avro.Schema(moodSchema))
		save("enum", "part-00000.avro", err, func() { want.WriteString("{\"mood\": \"BAD\"}\n{\"mood\": \"GOOD\"}\n") })
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
	})

	java := exec.CommandContext(t.Context(), "java", append([]string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dstdout.encoding=UTF-8", "-cp", strings.Join(jars, ":"), "ReadFiles.java",
	}, files...)...)
	var errors bytes.Buffer
	java.Stderr = &errors
	got, err := java.Output()
	require.NoError(t, err, "%s", &errors)
	require.Equal(t, strings.Split(want.String(), "\n"), strings.Split(string(got), "\n"))
}
