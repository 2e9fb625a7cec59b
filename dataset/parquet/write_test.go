package parquet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// encode writes rows to a file.
func encode[T any](t *testing.T, path string, o dataset.EncodeOptions, n int, row func(i int) T) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	e, err := newEncoder(file, reflect.TypeFor[T](), o)
	require.NoError(t, err)
	var current T
	for i := range n {
		current = row(i)
		require.NoError(t, e.Write(&current))
	}
	require.NoError(t, e.Close())
	require.NoError(t, file.Close())
}

func TestReadsWhatItWrites(t *testing.T) {
	const n = 3000
	for _, compression := range []string{"", "snappy", "zstd", "gzip", "none"} {
		path := filepath.Join(t.TempDir(), "a.parquet")
		encode(t, path, dataset.EncodeOptions{Compression: compression, Options: map[string]string{rowGroupSizeOption: "100000"}}, n, rowOfAllTypes)
		reader, err := file.OpenParquetFile(path, false)
		require.NoError(t, err)
		groups := reader.NumRowGroups()
		require.NoError(t, reader.Close())
		require.InDelta(t, 3, groups, 2, "row groups of about 100,000 bytes")
		require.Greater(t, groups, 1)
		for _, splitSize := range []int64{0, 50_000} {
			rows, err := readFile[allTypes](t, path, splitSize)
			require.NoError(t, err)
			require.Len(t, rows, n)
			for i := range rows {
				want := rowOfAllTypes(i)
				want.Bytes, rows[i].Bytes = nil, nil // valid until the next row
				require.Equal(t, want, rows[i], "row %d", i)
			}
		}
		selected, err := readFile[allTypes](t, path, 0, Where("int64", GreaterOrEqual, rowOfAllTypes(n-2).Int64))
		require.NoError(t, err)
		require.Len(t, selected, 2)
		require.Equal(t, rowOfAllTypes(n-2).Lists, selected[0].Lists)
	}
}

// deep has groups within groups, each of which can be null.
type deep struct {
	A *struct {
		B []*struct {
			C map[string]*[2]byte
			D *struct{ E [][]byte }
			F []map[int16][]time.Time
		}
	}
}

func TestReadsNestedNullsThatItWrites(t *testing.T) {
	type b = struct {
		C map[string]*[2]byte
		D *struct{ E [][]byte }
		F []map[int16][]time.Time
	}
	of := func(bs ...*b) deep { return deep{&struct{ B []*b }{bs}} }
	rows := []deep{
		{}, of(), {&struct{ B []*b }{[]*b{}}}, of(nil), of(&b{}), of(nil, &b{}, nil),
		of(&b{C: map[string]*[2]byte{}, D: &struct{ E [][]byte }{}, F: []map[int16][]time.Time{}}),
		of(&b{C: map[string]*[2]byte{"x": nil, "y": {1, 2}}, D: &struct{ E [][]byte }{[][]byte{nil, {}, {1}}}}, nil),
		of(&b{F: []map[int16][]time.Time{nil, {}, {1: nil, 2: {}, 3: {time.Unix(1, 1000).UTC(), time.Unix(-1, 0).UTC()}}}}),
		of(&b{F: []map[int16][]time.Time{{4: {time.Unix(5, 0).UTC()}}}}, &b{F: []map[int16][]time.Time{nil}}), {},
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	const times = 200
	encode(t, path, dataset.EncodeOptions{}, times*len(rows), func(i int) deep { return rows[i%len(rows)] })
	read, err := readFile[deep](t, path, 0)
	require.NoError(t, err)
	require.Len(t, read, times*len(rows))
	for i, row := range read {
		want := rows[i%len(rows)]
		if i < len(read)-batchRows && want.A != nil { // later batches overwrite the []byte values of earlier ones
			continue
		}
		require.Equal(t, want, row, "row %d", i)
	}
}

func TestWriterRefusesWhatFilesCannotHave(t *testing.T) {
	for want, try := range map[string]func(io.Writer) error{
		"needs a tag that says how many digits it has": encodeOne(struct{ A Decimal }{}),
		`field .A of type parquet.Decimal with decimal(3,1): the unscaled value 12340 has more than 3 digits`: encodeOne(struct {
			A Decimal `parquet:",decimal(3,1)"`
		}{NewDecimal(1234, 0)}),
		`field .A of type parquet.Decimal with decimal(9,1): the value 1.23 has more than 1 digits after the point`: encodeOne(struct {
			A Decimal `parquet:",decimal(9,1)"`
		}{NewDecimal(123, 2)}),
		`field .A of type int64 with decimal(3,1): the unscaled value -1000 has more than 3 digits`: encodeOne(struct {
			A int64 `parquet:",decimal(3,1)"`
		}{-1000}),
		"must be structs": encodeOne("text"),
	} {
		require.ErrorContains(t, try(io.Discard), want)
	}
	for want, o := range map[string]dataset.EncodeOptions{
		`snappy, zstd, gzip or none, not "lzo"`:                                     {Compression: "lzo"},
		"the size of row groups must be positive, not 0 bytes":                      {Options: map[string]string{rowGroupSizeOption: "0"}},
		`no option "header": the only one of Parquet files is parquet.RowGroupSize`: {Options: map[string]string{"header": "true"}},
	} {
		_, err := newEncoder(io.Discard, reflect.TypeFor[fewColumns](), o)
		require.ErrorContains(t, err, want)
	}
}

func encodeOne[T any](row T) func(io.Writer) error {
	return func(w io.Writer) error {
		e, err := newEncoder(w, reflect.TypeFor[T](), dataset.EncodeOptions{})
		if err != nil {
			return err
		}
		return errors.Join(e.Write(&row), e.Close())
	}
}

// failingWriter is a file to which at most left more bytes can be written.
type failingWriter struct{ left int }

var errFull = errors.New("no space left")

func (f *failingWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterReturnsErrorsOfItsFile(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, encodeOne(rowOfAllTypes(3))(&whole))
	for size := 0; size < whole.Len(); size += 97 {
		require.ErrorIs(t, encodeOne(rowOfAllTypes(3))(&failingWriter{size}), errFull, "%d bytes", size)
	}
}

var doubled = dataset.Define("doubled", func(p *dataset.Plan, path string) *dataset.Of[fewColumns] {
	return dataset.Map(Read[fewColumns](p, path), func(f fewColumns) fewColumns {
		f.Int64 *= 2
		return f
	})
})

func TestSaveWritesParquetFiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		require.NoError(t, doubled.With(session, "testdata/pyarrow-zstd.parquet").Save(ctx, out, Format, dataset.Compress("zstd"), RowGroupSize(1)))
		rows, err := doubled.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, rows, 10)
		for i, row := range rows {
			require.Equal(t, 4*rowOfAllTypes(i).Int64, row.Int64)
		}
		return nil
	}))
	names, err := filepath.Glob(filepath.Join(out, "part-*.zstd.parquet"))
	require.NoError(t, err)
	require.Len(t, names, 1)
}

// ofDay is a row of a table that is saved in directories by day.
type ofDay struct {
	Number int64
	Day    int `partition:"day"`
}

var (
	ofDays = dataset.Define("of days", func(p *dataset.Plan, days int64) *dataset.Of[ofDay] {
		return dataset.Map(dataset.Range(p, 0, 100, 2), func(i int64) ofDay { return ofDay{i, int(i % days)} })
	})
	readDay = dataset.Define("read a day", func(p *dataset.Plan, path string) *dataset.Of[ofDay] {
		day := dataset.Partition("day", func(value string) bool { return value == "7" })
		return dataset.SortBy(Read[ofDay](p, path, Source(day)), func(o ofDay) int64 { return o.Number })
	})
)

func TestPartitionDirectoriesAreColumns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		require.NoError(t, ofDays.With(session, 20).Save(ctx, out, Format, dataset.PartitionBy("day")))
		rows, err := readDay.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []ofDay{{7, 7}, {27, 7}, {47, 7}, {67, 7}, {87, 7}}, rows)
		require.ErrorContains(t, ofDays.With(session, 20).Save(ctx, out+"2", Format), "name the column in PartitionBy")
		return nil
	}))
}
