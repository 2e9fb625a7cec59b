package parquet

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/storage"
)

// readRecords returns the batches of a file, which it reads in splits of splitSize bytes.
func readRecords(t *testing.T, path string, splitSize int64, opts ...ReadOption) ([]arrow.RecordBatch, error) {
	t.Helper()
	var o options
	for _, option := range opts {
		option(&o)
	}
	ctx := storage.With(t.Context(), storage.New(storage.Options{}))
	splits, err := storage.From(ctx).Splits(ctx, path, storage.SplitOptions{Size: splitSize})
	require.NoError(t, err)
	var batches []arrow.RecordBatch
	for _, split := range splits {
		r := &splitReader{ctx: ctx, split: split, memory: testMemory, predicates: o.predicates}
		if err := r.records(&o, func(batch arrow.RecordBatch) bool {
			batch.Retain()
			batches = append(batches, batch)
			return true
		}); err != nil {
			return batches, err
		}
	}
	return batches, nil
}

// columnJSON returns the values of a column in batches, as JSON.
func columnJSON(t *testing.T, batches []arrow.RecordBatch, i int) string {
	t.Helper()
	var arrays []arrow.Array
	for _, batch := range batches {
		arrays = append(arrays, batch.Column(i))
	}
	all, err := array.Concatenate(arrays, memory.NewGoAllocator())
	require.NoError(t, err)
	text, err := all.MarshalJSON()
	require.NoError(t, err)
	return string(text)
}

// For the files in testdata, ReadRecords returns the same values as Arrow's own reader.
func TestRecordsHaveTheValuesOfArrowsReader(t *testing.T) {
	files, err := filepath.Glob("testdata/*.parquet")
	require.NoError(t, err)
	require.Greater(t, len(files), 20)
	for _, path := range files {
		for _, rows := range []int{3, 1000} {
			batches, err := readRecords(t, path, 0, BatchRows(rows))
			require.NoError(t, err)
			require.Len(t, batches, map[int]int{3: 4, 1000: 1}[rows], path) // of 10 rows
			opened, err := file.OpenParquetFile(path, false)
			require.NoError(t, err)
			reader, err := pqarrow.NewFileReader(opened, pqarrow.ArrowReadProperties{}, memory.NewGoAllocator())
			require.NoError(t, err)
			table, err := reader.ReadTable(t.Context())
			require.NoError(t, err, path)
			require.NoError(t, opened.Close())
			schema := batches[0].Schema()
			require.Equal(t, int(table.NumCols()), schema.NumFields(), path)
			for i := range schema.NumFields() {
				want, err := array.Concatenate(table.Column(i).Data().Chunks(), memory.NewGoAllocator())
				require.NoError(t, err)
				text, err := want.MarshalJSON()
				require.NoError(t, err)
				field := schema.Field(i)
				require.Equal(t, table.Column(i).Name(), field.Name)
				require.Equal(t, string(text), columnJSON(t, batches, i), "%s: %v", path, field)
				require.Equal(t, table.Column(i).Field().Nullable, field.Nullable, "%s: %v", path, field)
			}
		}
	}
}

func TestTypesOfRecords(t *testing.T) {
	batches, err := readRecords(t, "testdata/pyarrow-snappy.parquet", 0)
	require.NoError(t, err)
	var types []string
	for _, f := range batches[0].Schema().Fields() {
		types = append(types, f.Name+" "+f.Type.String())
	}
	require.Equal(t, []string{
		"bool bool", "int8 int8", "int16 int16", "int32 int32", "int64 int64", "uint8 uint8", "uint16 uint16", "uint32 uint32",
		"uint64 uint64", "float16 float16", "float32 float32", "float64 float64", "string utf8", "bytes binary",
		"fixed fixed_size_binary[4]", "date date32", "millis timestamp[ms, tz=UTC]", "micros timestamp[us, tz=UTC]",
		"nanos timestamp[ns]", "time time64[us]", "decimal9 decimal(9, 2)", "decimal18 decimal(18, 4)", "decimal38 decimal(38, 4)",
		"maybe_int int32", "maybe_string utf8", "maybe_time timestamp[us, tz=UTC]",
		"list list<element: int64, nullable>", "lists list<element: list<element: utf8, nullable>, nullable>",
		"struct struct<a: int64 nullable, b: utf8 nullable>", "maybe_struct struct<a: int64 nullable, b: utf8 nullable>",
		"structs list<element: struct<a: int64 nullable, b: utf8 nullable>, nullable>",
		"map map<utf8, int64, items_nullable>", "map_of_lists map<int32, list<element: utf8, nullable>, items_nullable>",
	}, types)
	batches, err = readRecords(t, "testdata/pyarrow-int96.parquet", 0)
	require.NoError(t, err)
	require.Equal(t, "timestamp[us, tz=UTC]", batches[0].Schema().Field(0).Type.String())
}

func TestRecordsOfColumnsAndRows(t *testing.T) {
	const path = "testdata/pyarrow-snappy.parquet"
	for _, splitSize := range []int64{0, 4000} {
		batches, err := readRecords(t, path, splitSize, Columns("maybe_struct.b", "Int64", "struct.b", "struct.a", "list"),
			Where("int32", GreaterOrEqual, rowOfAllTypes(4).Int32), Where("int8", NotEqual, rowOfAllTypes(8).Int8))
		require.NoError(t, err)
		var types []string
		for _, f := range batches[0].Schema().Fields() {
			types = append(types, f.Name+" "+f.Type.String())
		}
		require.Equal(t, []string{
			"maybe_struct struct<b: utf8 nullable>", "int64 int64", "struct struct<b: utf8 nullable, a: int64 nullable>", "list list<element: int64, nullable>",
		}, types)
		require.JSONEq(t, `[3999999999991,4999999999991,5999999999991,6999999999991,8999999999991]`, columnJSON(t, batches, 1))
		require.JSONEq(t, `[null,{"b":null},{"b":null},null,{"b":null}]`, columnJSON(t, batches, 0))
		require.JSONEq(t, `[{"a":4,"b":null},{"a":5,"b":"b5"},{"a":6,"b":"b6"},{"a":7,"b":null},{"a":9,"b":"b9"}]`, columnJSON(t, batches, 2))
		require.JSONEq(t, `[null,[0],[0,1],null,[0]]`, columnJSON(t, batches, 3))
	}
	none, err := readRecords(t, path, 0, Where("int64", Greater, int64(1e15)))
	require.NoError(t, err)
	require.Empty(t, none)
	for want, column := range map[string]string{
		`there is no column "other": there are ["bool"`:                                  "other",
		`there is no column "struct.c": there are ["a" "b"]`:                             "struct.c",
		`there is no column "int64.a": the column "int64" is not a group`:                "int64.a",
		`the column "structs.a" is in the list or map "structs": select that as a whole`: "structs.a",
		`the column "map.key_value" is in the list or map "map": select that as a whole`: "map.key_value",
	} {
		_, err := readRecords(t, path, 0, Columns(column))
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

// Reading a damaged file returns an error with the path, and never panics.
// TestDamagedFilesAreErrors damages the same bytes in more ways.
func TestRecordsOfDamagedFilesAreErrors(t *testing.T) {
	content, err := os.ReadFile("testdata/pyarrow-snappy.parquet")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	read, failed := 0, 0
	for at := 0; at < len(content); at += stride {
		content[at] ^= 0xff
		require.NoError(t, os.WriteFile(path, content, 0o600))
		read++
		if _, err := readRecords(t, path, 0); err != nil {
			require.ErrorContains(t, err, path)
			failed++
		}
		content[at] ^= 0xff
	}
	require.Greater(t, failed, read/3, "a third of the damage is found")
}

// If a column chunk ends too early, the error names the row group and the column.
func TestErrorsOfRecordsNameRowGroupAndColumn(t *testing.T) {
	content, err := os.ReadFile("testdata/pyarrow-snappy.parquet")
	require.NoError(t, err)
	opened, err := file.OpenParquetFile("testdata/pyarrow-snappy.parquet", false)
	require.NoError(t, err)
	number := opened.MetaData().Schema.ColumnIndexByName("struct.b")
	chunk, err := opened.MetaData().RowGroup(1).ColumnChunk(number)
	require.NoError(t, err)
	at := chunk.DictionaryPageOffset()
	require.NoError(t, opened.Close())
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	copy(content[at:], "\xff\xff\xff\xff\xff\xff\xff\xff")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	_, err = readRecords(t, path, 0)
	require.ErrorContains(t, err, path+`: row group 1, column "struct.b"`)
}

var (
	recordSums = dataset.Define("sums of records", func(p *dataset.Plan, path string) *dataset.Of[int64] {
		return dataset.Map(ReadRecords(p, path, Columns("int64"), BatchRows(4), Source(dataset.SplitSize(8000))), func(batch arrow.RecordBatch) int64 {
			sum := int64(0)
			for _, v := range batch.Column(0).(*array.Int64).Int64Values() {
				sum += v
			}
			return sum
		})
	})
	emptyBatches = dataset.Define("empty batches", func(p *dataset.Plan, path string) *dataset.Of[int64] {
		return dataset.Map(ReadRecords(p, path, BatchRows(0)), arrow.RecordBatch.NumRows)
	})
	rowsOfColumns = dataset.Define("rows of columns", func(p *dataset.Plan, path string) *dataset.Of[int64s] {
		return Read[int64s](p, path, Columns("int64"))
	})
)

func TestReadRecordsIsASourceOfDataSets(t *testing.T) {
	const path = "testdata/pyarrow-snappy.parquet"
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		sums, err := recordSums.With(session, path).Collect(ctx)
		require.NoError(t, err)
		want := make([]int64, 3) // sums of batches; a batch can have rows of both row groups
		for i := range 10 {
			want[i/4] += rowOfAllTypes(i).Int64
		}
		require.Equal(t, want, sums)
		_, err = emptyBatches.With(session, path).Collect(ctx)
		require.ErrorContains(t, err, "BatchRows(0): a batch must have at least one row")
		_, err = rowsOfColumns.With(session, path).Collect(ctx)
		require.ErrorContains(t, err, "Columns and BatchRows are options of ReadRecords")
		return nil
	}))
}
