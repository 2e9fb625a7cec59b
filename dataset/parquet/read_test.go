package parquet

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// testMemory is how many bytes of memory tasks may use in tests.
const testMemory = 64 << 20

// readFile returns the rows of a file, which it reads in splits of splitSize bytes.
func readFile[T any](t *testing.T, path string, splitSize int64, opts ...ReadOption) ([]T, error) {
	t.Helper()
	var o options
	for _, option := range opts {
		option(&o)
	}
	row, err := describeRow(reflect.TypeFor[T]())
	require.NoError(t, err)
	ctx := storage.With(t.Context(), storage.New(storage.Options{}))
	splits, err := storage.From(ctx).Splits(ctx, path, storage.SplitOptions{Size: splitSize})
	require.NoError(t, err)
	var rows []T
	for _, split := range splits {
		r := &splitReader{ctx: ctx, split: split, memory: testMemory, predicates: o.predicates}
		if err := readRows(r, row, func(row T) bool {
			rows = append(rows, row)
			return true
		}); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func requireRows[T any](t *testing.T, path string, n int, want func(e allTypes) T) {
	t.Helper()
	rows, err := readFile[T](t, path, 0)
	require.NoError(t, err)
	require.Len(t, rows, n)
	for i, row := range rows {
		require.Equal(t, want(rowOfAllTypes(i)), row, "%s: row %d", path, i)
	}
}

type (
	fewColumns struct {
		Int64   int64
		Float64 float64
		String  string
		List    []int64
	}
	int64s   struct{ Int64 int64 }
	float64s struct{ Float64 float64 }
	strs     struct{ String string }
	times    struct {
		MaybeTime *time.Time `parquet:"maybe_time"`
		Nanos     time.Time
	}
	decimalRow struct{ Decimal9, Decimal18, Decimal38 Decimal }
)

func TestReadsEveryTypeOfPyarrowAndDuckDB(t *testing.T) {
	for _, name := range []string{"pyarrow-snappy", "pyarrow-v2", "duckdb-v1", "duckdb-v2"} {
		path := "testdata/" + name + ".parquet"
		rows, err := readFile[allTypes](t, path, 0)
		require.NoError(t, err)
		require.Len(t, rows, 10)
		for i, row := range rows {
			want := rowOfAllTypes(i)
			want.Bytes, row.Bytes = nil, nil // later batches overwrite []byte values
			if strings.HasPrefix(name, "duckdb") {
				want.Fixed = [4]byte{}
			}
			if name == "duckdb-v2" {
				want.Uint32 = 0
			}
			require.Equal(t, want, row, "%s: row %d", path, i)
		}
	}
	requireRows(t, "testdata/pyarrow-int96.parquet", 10, func(e allTypes) times { return times{e.MaybeTime, e.Nanos} })
	for _, name := range []string{"snappy", "decimal-int"} {
		requireRows(t, "testdata/pyarrow-"+name+".parquet", 10, func(e allTypes) decimalRow {
			return decimalRow{NewDecimal(int64(e.Decimal9), 2), NewDecimal(e.Decimal18, 4), e.Decimal38}
		})
	}
}

func TestReadsEveryCodecAndEncodingOfPyarrow(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "brotli", "lz4", "zstd"} {
		requireRows(t, "testdata/pyarrow-"+codec+".parquet", 10, func(e allTypes) fewColumns { return fewColumns{e.Int64, e.Float64, e.String, e.List} })
	}
	requireRows(t, "testdata/pyarrow-delta-binary-packed.parquet", 10, func(e allTypes) int64s { return int64s{e.Int64} })
	requireRows(t, "testdata/pyarrow-byte-stream-split.parquet", 10, func(e allTypes) float64s { return float64s{e.Float64} })
	for _, encoding := range []string{"delta-length-byte-array", "delta-byte-array"} {
		requireRows(t, "testdata/pyarrow-"+encoding+".parquet", 10, func(e allTypes) strs { return strs{e.String} })
	}
}

func TestEachRowGroupIsReadOnce(t *testing.T) {
	want, err := readFile[int64s](t, "testdata/pyarrow-snappy.parquet", 0)
	require.NoError(t, err)
	for _, size := range []int64{100, 999, 4000, 8000, 12_000, 16_000} {
		rows, err := readFile[int64s](t, "testdata/pyarrow-snappy.parquet", size)
		require.NoError(t, err)
		require.Equal(t, want, rows, "splits of %d bytes", size)
	}
}

var everyPlan = dataset.Define("every", func(p *dataset.Plan, path string) *dataset.Of[allTypes] {
	return Read[allTypes](p, path, Where("int64", Less, rowOfAllTypes(7).Int64), Source(dataset.SplitSize(8000)))
})

var emptyPlan = dataset.Define("empty", func(p *dataset.Plan, path string) *dataset.Of[struct{}] {
	return Read[struct{}](p, path)
})

func TestReadIsASourceOfDataSets(t *testing.T) {
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		rows, err := everyPlan.With(session, "testdata/pyarrow-snappy.parquet").Collect(ctx)
		require.NoError(t, err)
		require.Len(t, rows, 7)
		for i, row := range rows {
			require.Equal(t, rowOfAllTypes(i), row)
		}
		_, err = everyPlan.With(session, "testdata/pyarrow-none.parquet").Collect(ctx)
		require.ErrorContains(t, err, `testdata/pyarrow-none.parquet: there is no column "Bool" for field allTypes.Bool of type bool`)
		require.ErrorContains(t, err, "failed once", "a retry cannot help")
		require.ErrorContains(t, err, "read_test.go:")
		_, err = emptyPlan.With(session, "testdata/pyarrow-none.parquet").Collect(ctx)
		require.ErrorContains(t, err, "no exported fields")
		return nil
	}))
}

func TestMismatchesNameColumnAndTypes(t *testing.T) {
	const path = "testdata/pyarrow-snappy.parquet"
	check := func(read func() error, want string) {
		t.Helper()
		err := read()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
	check(fails[struct{ Other int }](t, path), `there is no column "Other" for field .Other of type int: there are ["bool" "int8"`)
	check(fails[struct{ Int64 int32 }](t, path), `column "int64" has the type INT64: field .Int64 of type int32 cannot have its values`)
	check(fails[struct{ Uint32 int32 }](t, path), `cannot have its values`)
	check(fails[struct{ Uint64 int64 }](t, path), `cannot have its values`)
	check(fails[struct{ Int32 uint64 }](t, path), `cannot have its values`)
	check(fails[struct{ Float64 float32 }](t, path), `column "float64" has the type DOUBLE`)
	check(fails[struct{ String []string }](t, path), `column "string" has the type BYTE_ARRAY (String): field .String of type []string`)
	check(fails[struct{ List string }](t, path), `column "list" is a group: field .List of type string`)
	check(fails[struct{ Struct []string }](t, path), `column "struct" is a group, but not a list: field .Struct of type []string is a slice`)
	check(fails[struct{ List map[string]string }](t, path), `column "list" is a group, but not a map`)
	check(fails[struct{ Decimal18 float64 }](t, path), `column "decimal18" has the type FIXED_LEN_BYTE_ARRAY(8) (Decimal(precision=18, scale=4)): field .Decimal18 of type float64`)
	check(fails[struct {
		Decimal18 int64 `parquet:",decimal(18,2)"`
	}](t, path), `field .Decimal18 of type int64 with decimal(18,2)`)
	check(fails[struct{ Date int32 }](t, path), `column "date" has the type INT32 (Date)`)
	check(fails[struct{ Micros int64 }](t, path), `cannot have its values`)
	check(fails[struct {
		Fixed [5]byte
	}](t, path), `FIXED_LEN_BYTE_ARRAY(4)`)
	check(fails[struct {
		Maybe string `parquet:"maybe_string"`
	}](t, path), `row group 0, column "maybe_string", rows from 0 on: a value is null, and the field is not a pointer`)
	check(fails[struct {
		Maybe pair `parquet:"maybe_struct"`
	}](t, path), `a value is null`)
	_, err := readFile[struct {
		Other []string `parquet:"other,optional"`
		Int64 int64
	}](t, path, 0)
	require.NoError(t, err)
}

// fails returns a function that reads a file as rows of type T and returns the error.
func fails[T any](t *testing.T, path string) func() error {
	return func() error {
		_, err := readFile[T](t, path, 0)
		return err
	}
}

func TestTypesWithoutColumnsAreRejected(t *testing.T) {
	type recursive struct{ Next []recursive }
	for want, element := range map[string]reflect.Type{
		"must be structs":      reflect.TypeFor[int](),
		"no exported fields":   reflect.TypeFor[struct{ a int }](),
		"contains itself":      reflect.TypeFor[recursive](),
		"type chan int cannot": reflect.TypeFor[struct{ A chan int }](),
		"a pointer to []int":   reflect.TypeFor[struct{ A *[]int }](),
		"keys of type *int":    reflect.TypeFor[struct{ A map[*int]int }](),
		"unknown option": reflect.TypeFor[struct {
			A int `parquet:"a,zip"`
		}](),
		"decimal(digits,scale)": reflect.TypeFor[struct {
			A int `parquet:"a,decimal(5)"`
		}](),
		"more digits than int32 holds": reflect.TypeFor[struct {
			A int32 `parquet:"a,decimal(10,2)"`
		}](),
		"is for integers and Decimal": reflect.TypeFor[struct {
			A string `parquet:"a,decimal(10,2)"`
		}](),
		`another field has the column "a"`: reflect.TypeFor[struct {
			A int `parquet:"a"`
			B int `parquet:"a"`
		}](),
	} {
		_, err := describeRow(element)
		require.ErrorContains(t, err, want)
	}
}

func TestFilesInOtherFormatsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.parquet")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("not a Parquet file", 100)), 0o600))
	_, err := readFile[fewColumns](t, path, 0)
	require.ErrorContains(t, err, path+": footer: ")
	compressed := path + ".gz"
	require.NoError(t, os.Rename(path, compressed))
	_, err = readFile[fewColumns](t, compressed, 0)
	require.ErrorContains(t, err, "compressed with gzip as a whole")
}
