package sequencefile_test

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
	"github.com/bobbin-yarn/bobbin/dataset/sequencefile"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// run runs a driver function on a local master.
func run(t *testing.T, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		f(ctx, session)
		return nil
	}))
}

// source describes which file a test reads, and how.
type source struct {
	Path  string
	Split int64
}

// files defines a data set of files of pairs. Call it in the initializer of a package
// variable.
func files[K, V any](name string) *dataset.Definition[source, dataset.KV[K, V]] {
	return dataset.Define(name, func(p *dataset.Plan, s source) *dataset.Of[dataset.KV[K, V]] {
		return sequencefile.Read[K, V](p, s.Path, dataset.SplitSize(s.Split))
	})
}

var (
	longText     = files[int64, string]("long, text")
	longBytes    = files[int64, []byte]("long, bytes")
	bytesInt     = files[[]byte, int32]("bytes, int")
	stringLong   = files[string, int64]("string, long")
	nullText     = files[struct{}, string]("null, text")
	floatDouble  = files[float32, float64]("float, double")
	doubles      = files[float64, float64]("double, double")
	booleanNull  = files[bool, struct{}]("boolean, null")
	intText      = files[int32, string]("int, text")
	intsText     = files[int, string]("ints, text")
	writtenPairs = dataset.Define("pairs", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[int64, string]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 2), func(i int64) (int64, string) { return i << 33, textOf(i) })
	})
	numbers = dataset.Define("numbers", func(p *dataset.Plan, n int64) *dataset.Of[int64] { return dataset.Range(p, 0, n, 1) })
	times   = dataset.Define("complex keys", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[uint8, string]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 1), func(i int64) (uint8, string) { return uint8(i), "" })
	})
	everyType = dataset.Define("every type", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[float32, float64]] {
		return dataset.MapKV(dataset.Range(p, 0, n, 1), func(i int64) (float32, float64) { return float32(i) / 2, float64(i) / 3 })
	})
)

func textOf(i int64) string {
	text := fmt.Sprint("value ä ", i)
	if i%10 == 9 {
		text += strings.Repeat(" x", 100)
	}
	return text
}

func pairs(n int64) []dataset.KV[int64, string] {
	var all []dataset.KV[int64, string]
	for i := range n {
		all = append(all, dataset.KV[int64, string]{Key: i << 33, Value: textOf(i)})
	}
	return all
}

// testdata/WriteSequenceFiles.java has written the files in testdata with Hadoop. Each
// record must be read once with splits of any size.
func TestReadsHadoopsFiles(t *testing.T) {
	want := pairs(40)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, name := range []string{
			"none", "record-default", "block-default", "block-deflate", "block-bzip2", "record-snappy", "block-snappy", "record-lz4", "block-lz4",
		} {
			for _, split := range []int64{60, 137, 1 << 20} {
				got, err := longText.With(session, source{filepath.Join("testdata", name), split}).Collect(ctx)
				require.NoError(t, err, name)
				require.Equal(t, want, got, "%s in splits of %d bytes", name, split)
			}
		}
	})
}

func TestReadsHadoopsClasses(t *testing.T) {
	at := func(name string) source { return source{Path: filepath.Join("testdata", name)} }
	run(t, func(ctx context.Context, session *bobbin.Session) {
		b := []byte{0, 255, 2}
		ints, err := bytesInt.With(session, at("bytes-int")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []dataset.KV[[]byte, int32]{{Key: b}, {Key: b, Value: -1}, {Key: b, Value: -2}}, ints)
		longs, err := stringLong.With(session, at("bytes-int")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, dataset.KV[string, int64]{Key: string(b), Value: -2}, longs[2])
		for _, name := range []string{"null-text", "null-text-snappy"} {
			texts, err := nullText.With(session, at(name)).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, []dataset.KV[struct{}, string]{{Value: textOf(0)}, {Value: textOf(1)}, {Value: textOf(2)}}, texts)
		}
		floats, err := floatDouble.With(session, at("float-double")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []dataset.KV[float32, float64]{{}, {Key: 0.5, Value: 1 / 3.0}, {Key: 1, Value: 2 / 3.0}}, floats)
		wide, err := doubles.With(session, at("float-double")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, dataset.KV[float64, float64]{Key: 0.5, Value: 1 / 3.0}, wide[1])
		flags, err := booleanNull.With(session, at("boolean-null")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []dataset.KV[bool, struct{}]{{Key: false}, {Key: true}, {Key: false}}, flags)
		none, err := longText.With(session, at("empty")).Collect(ctx)
		require.NoError(t, err)
		require.Empty(t, none)
		content, err := longBytes.With(session, at("none")).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, textOf(39), string(content[39].Value))
	})
}

func TestRefusesOtherClassesAndTypes(t *testing.T) {
	at := func(name string) source { return source{Path: filepath.Join("testdata", name)} }
	run(t, func(ctx context.Context, session *bobbin.Session) {
		err := intText.With(session, at("vint")).Run(ctx)
		require.ErrorContains(t, err, "testdata/vint: the keys have the class org.apache.hadoop.io.VIntWritable, which only Java code can read: write the file with one of Text,")
		err = intText.With(session, at("none")).Run(ctx)
		require.ErrorContains(t, err, "the keys have the class org.apache.hadoop.io.LongWritable, which is not read into int32: read them into int64 or int")
		err = bytesInt.With(session, source{Path: "sequencefile_test.go"}).Run(ctx)
		require.ErrorContains(t, err, `sequencefile_test.go: the header of the SequenceFile: it begins with the bytes "pack", no SequenceFile does`)
	})
}

func TestWritesAndReads(t *testing.T) {
	const several = 60_000 // records make several blocks, and several syncs
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, test := range []struct {
			compression string
			records     int64
			options     []dataset.SaveOption
		}{
			{"", several, nil}, {"snappy", several, nil}, {"gzip", 100, nil}, {"bzip2", 100, nil}, {"deflate", 100, nil}, {"lz4", 100, nil},
			{"zstd", 100, nil}, {"snappy", 100, []dataset.SaveOption{sequencefile.RecordCompression()}},
		} {
			out := filepath.Join(t.TempDir(), "out")
			options := append(test.options, dataset.Compress(test.compression))
			require.NoError(t, writtenPairs.With(session, test.records).Save(ctx, out, sequencefile.Format, options...))
			require.FileExists(t, filepath.Join(out, "part-00001"))
			got, err := longText.With(session, source{out, 200_000}).Collect(ctx)
			require.NoError(t, err)
			slices.SortFunc(got, func(a, b dataset.KV[int64, string]) int { return int((a.Key - b.Key) >> 33) })
			require.Equal(t, pairs(test.records), got, test.compression)
		}
		out := filepath.Join(t.TempDir(), "out")
		require.NoError(t, everyType.With(session, 3).Save(ctx, out, sequencefile.Format))
		floats, err := floatDouble.With(session, source{Path: out}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []dataset.KV[float32, float64]{{}, {Key: 0.5, Value: 1 / 3.0}, {Key: 1, Value: 2 / 3.0}}, floats)
		many, err := intsText.With(session, source{Path: filepath.Join("testdata", "none")}).Take(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, dataset.KV[int, string]{Key: 1 << 33, Value: textOf(1)}, many[1])
	})
}

func TestSaveReportsErrorsBeforeTheJobRuns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for message, err := range map[string]error{
			"elements of type int64 are no pairs for a SequenceFile: make them a dataset.KV first": numbers.With(session, 1).Save(ctx, out, sequencefile.Format),
			"keys of type uint8 have no class in SequenceFiles: map them to one of []uint8,":       times.With(session, 1).Save(ctx, out, sequencefile.Format),
			`unknown compression "x"`:                 writtenPairs.With(session, 1).Save(ctx, out, sequencefile.Format, dataset.Compress("x")),
			"RecordCompression needs the option":      writtenPairs.With(session, 1).Save(ctx, out, sequencefile.Format, sequencefile.RecordCompression()),
			`the option "x" is none of SequenceFiles`: writtenPairs.With(session, 1).Save(ctx, out, sequencefile.Format, dataset.FormatOption("x", "")),
		} {
			require.ErrorContains(t, err, message)
		}
	})
}

// A damaged file fails the job with its path and the place of the damage.
func TestDamagedFiles(t *testing.T) {
	directory := t.TempDir()
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return content
	}
	none, blocks := read("none"), read("block-default")
	sync := bytes.LastIndex(none, []byte{255, 255, 255, 255})
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for message, content := range map[string][]byte{
			"the header of the SequenceFile: unexpected EOF":             none[:60],
			"the record at byte":                                         none[:len(none)-1],
			"no sync marker is there":                                    append(append(bytes.Clone(none[:sync+4]), make([]byte, 16)...), none[sync+20:]...),
			"it has version 5, not 6":                                    append([]byte("SEQ\x05"), none[4:]...),
			`unknown codec "org.apache.hadoop.io.compress.DefaultXodec"`: bytes.Replace(blocks, []byte("DefaultCodec"), []byte("DefaultXodec"), 1),
			"unexpected EOF":                                             blocks[:len(blocks)-5],
			"zlib: ":                                                     append(bytes.Clone(blocks[:len(blocks)-3]), 0, 0, 0),
		} {
			path := filepath.Join(directory, "damaged")
			require.NoError(t, os.WriteFile(path, content, 0o600))
			err := longText.With(session, source{Path: path}).Run(ctx)
			require.ErrorContains(t, err, "damaged: ")
			require.ErrorContains(t, err, message)
			require.ErrorContains(t, err, "sequencefile.Read at sequencefile_test.go:")
		}
	})
}
