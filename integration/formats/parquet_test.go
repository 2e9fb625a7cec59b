//go:build integration

package formats_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
	"github.com/bobbin-yarn/bobbin/integration/python"
)

// pyarrowRows is the path of a file that pyarrow has written. It has 10 rows and a column of
// each type.
const pyarrowRows = "../../dataset/parquet/testdata/pyarrow-snappy.parquet"

type pair struct {
	A int64   `parquet:"a"`
	B *string `parquet:"b"`
}

// row contains the columns of pyarrowRows.
type row struct {
	Bool        bool                `parquet:"bool"`
	Int8        int8                `parquet:"int8"`
	Int16       int16               `parquet:"int16"`
	Int32       int32               `parquet:"int32"`
	Int64       int64               `parquet:"int64"`
	Uint8       uint8               `parquet:"uint8"`
	Uint16      uint16              `parquet:"uint16"`
	Uint32      uint32              `parquet:"uint32"`
	Uint64      uint64              `parquet:"uint64"`
	Float16     float32             `parquet:"float16"`
	Float32     float32             `parquet:"float32"`
	Float64     float64             `parquet:"float64"`
	String      string              `parquet:"string"`
	Bytes       []byte              `parquet:"bytes"`
	Fixed       [4]byte             `parquet:"fixed"`
	Date        parquet.Date        `parquet:"date"`
	Millis      time.Time           `parquet:"millis"`
	Micros      time.Time           `parquet:"micros"`
	Nanos       time.Time           `parquet:"nanos"`
	Time        time.Duration       `parquet:"time"`
	Decimal9    int32               `parquet:"decimal9,decimal(9,2)"`
	Decimal18   int64               `parquet:"decimal18,decimal(18,4)"`
	Decimal38   parquet.Decimal     `parquet:"decimal38,decimal(38,4)"`
	MaybeInt    *int32              `parquet:"maybe_int"`
	MaybeString *string             `parquet:"maybe_string"`
	MaybeTime   *time.Time          `parquet:"maybe_time"`
	List        []int64             `parquet:"list"`
	Lists       [][]*string         `parquet:"lists"`
	Struct      pair                `parquet:"struct"`
	MaybeStruct *pair               `parquet:"maybe_struct"`
	Structs     []pair              `parquet:"structs"`
	Map         map[string]int64    `parquet:"map"`
	MapOfLists  map[int32][]*string `parquet:"map_of_lists"`
}

// repeated is a data set with each row of pyarrowRows n times.
var repeated = dataset.Define("repeated", func(p *dataset.Plan, n int) *dataset.Of[row] {
	return dataset.FlatMap(parquet.Read[row](p, pyarrowRows), func(r row) iter.Seq[row] {
		return slices.Values(slices.Repeat([]row{r}, n))
	})
})

// saveRows saves each row of pyarrowRows n times, once with each codec. It returns the paths of
// the files.
func saveRows(t *testing.T, n int, options ...dataset.SaveOption) []string {
	directory := t.TempDir()
	var files []string
	withSession(t, func(ctx context.Context, session *bobbin.Session) {
		for i, codec := range []string{"snappy", "zstd", "gzip", "none"} {
			path := filepath.Join(directory, fmt.Sprint(n, codec))
			options := append(options, dataset.Compress(codec))
			require.NoError(t, repeated.With(session, n).Save(ctx, path, parquet.Format, options...))
			found, err := filepath.Glob(filepath.Join(path, "part-*"))
			require.NoError(t, err)
			files = append(files, found...)
			require.Len(t, files, i+1)
		}
	})
	return files
}

// findPython returns a Python with pyarrow and DuckDB.
func findPython(t *testing.T) *python.Installation {
	t.Helper()
	installation, err := python.Find(t.Context(), "pyarrow-26.0.1-duckdb-2.0.0-pytz-2026.6",
		"pyarrow==26.0.1", "duckdb==2.0.0", "pytz==2026.6")
	require.NoError(t, err)
	return installation
}

// TestPythonReadsSavedParquetFiles checks that pyarrow and DuckDB read the values of
// pyarrowRows from the saved files: from files with one page in each column chunk, and from
// files with several pages and row groups.
func TestPythonReadsSavedParquetFiles(t *testing.T) {
	installation := findPython(t)
	files := append(saveRows(t, 1), saveRows(t, 300, parquet.RowGroupSize(50_000))...)
	output, err := installation.Command(t.Context(), append([]string{"compare.py", pyarrowRows}, files...)...).CombinedOutput()
	require.NoError(t, err, "%s", output)
}
