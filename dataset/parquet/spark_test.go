package parquet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sparkRow has the columns of files that Spark wrote.
type sparkRow struct {
	Bool        bool
	Int8        int8
	Int16       int16
	Int32       int32
	Int64       int64
	Float32     float32
	Float64     float64
	String      string
	Bytes       []byte
	Date        Date
	Micros      time.Time
	Local       *time.Time `parquet:",optional"`
	Decimal9    int32      `parquet:",decimal(9,2)"`
	Decimal18   int64      `parquet:",decimal(18,4)"`
	Decimal38   Decimal
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

func TestReadsEveryTypeOfSpark(t *testing.T) {
	for _, name := range []string{"snappy", "v2", "legacy"} {
		path := "testdata/spark-" + name + ".parquet"
		rows, err := readFile[sparkRow](t, path, 0)
		require.NoError(t, err)
		require.Len(t, rows, 10)
		for i, row := range rows {
			e := rowOfAllTypes(i)
			want := sparkRow{
				e.Bool, e.Int8, e.Int16, e.Int32, e.Int64, e.Float32, e.Float64, e.String, nil, e.Date, e.Micros, &e.Micros,
				e.Decimal9, e.Decimal18, e.Decimal38, e.MaybeInt, e.MaybeString, e.MaybeTime, e.List, e.Lists, e.Struct, e.MaybeStruct,
				e.Structs, e.Map, e.MapOfLists,
			}
			if name == "legacy" { // with INT96, decimals as bytes, and lists and maps as older versions wrote them
				want.Local = nil
			}
			row.Bytes = nil // valid until the next row
			require.Equal(t, want, row, "%s: row %d", path, i)
		}
	}
}

func TestReadsEveryCodecOfSpark(t *testing.T) {
	for _, codec := range []string{"uncompressed", "gzip", "lz4_raw", "zstd"} {
		requireRows(t, "testdata/spark-"+codec+".parquet", 10, func(e allTypes) fewColumns { return fewColumns{e.Int64, e.Float64, e.String, e.List} })
	}
}
