package parquet

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

func TestJSONLinesShowsEveryType(t *testing.T) {
	ctx := storage.With(t.Context(), storage.New(storage.Options{}))
	var out bytes.Buffer
	show := func(path string, limit int) error {
		file, err := storage.From(ctx).Open(ctx, path)
		require.NoError(t, err)
		defer file.Close()
		return JSONLines(ctx, file, limit, &out)
	}
	require.NoError(t, show("testdata/pyarrow-snappy.parquet", 3))
	lines := bytes.Split(out.Bytes(), []byte("\n"))
	require.Len(t, lines, 4)
	require.Equal(t, `{"bool":true,"int8":-48,"int16":-3,"int32":1999999,"int64":1999999999991,"uint8":2,"uint16":60002,"uint32":4294967293,`+
		`"uint64":18446744073709551613,"float16":1,"float32":0.5,"float64":0.6666666666666666,"string":"text 2","bytes":"AP8y","fixed":"MDAwMg==",`+
		`"date":"2020-03-02","millis":"2020-03-02T12:34:56.789Z","micros":"2020-03-02T12:34:56.789002Z","nanos":"2020-03-02T12:34:56.789002Z",`+
		`"time":"00:00:02.000006","decimal9":"24681.34","decimal18":"246.8134","decimal38":"-24681340000000000000000.0000","maybe_int":2,`+
		`"maybe_string":"some 2","maybe_time":"2020-03-02T12:34:56.789002Z","list":[0,1],"lists":[[],null],"struct":{"a":2,"b":"b2"},`+
		`"maybe_struct":{"a":2,"b":null},"structs":[{"a":0,"b":"x"},{"a":1,"b":null}],"map":{"k0":2,"k1":3},"map_of_lists":{"0":[],"1":["2"]}}`,
		string(lines[2]))
	out.Reset()
	require.NoError(t, show("testdata/pyarrow-none.parquet", math.MaxInt))
	require.Equal(t, 10, bytes.Count(out.Bytes(), []byte("\n")))
	require.ErrorContains(t, show("testdata/pyarrow_files.py", 3), "testdata/pyarrow_files.py: footer: ")
}
