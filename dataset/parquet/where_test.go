package parquet

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhereKeepsTheRowsThatMatch(t *testing.T) {
	number9 := NewDecimal(number(5), 2)
	for name, test := range map[string]struct {
		where ReadOption
		match func(e allTypes) bool
	}{
		"int less":            {Where("int64", Less, rowOfAllTypes(3).Int64), func(e allTypes) bool { return e.Int64 < rowOfAllTypes(3).Int64 }},
		"int equal":           {Where("int32", Equal, rowOfAllTypes(3).Int32), func(e allTypes) bool { return e.Int32 == rowOfAllTypes(3).Int32 }},
		"int not equal":       {Where("int8", NotEqual, -48), func(e allTypes) bool { return e.Int8 != -48 }},
		"int beyond its type": {Where("int8", Less, int64(1)<<40), func(allTypes) bool { return true }},
		"unsigned":            {Where("uint64", GreaterOrEqual, rowOfAllTypes(4).Uint64), func(e allTypes) bool { return e.Uint64 >= rowOfAllTypes(4).Uint64 }},
		"unsigned and signed": {Where("uint64", Greater, -1), func(allTypes) bool { return true }},
		"unsigned 32":         {Where("uint32", Less, rowOfAllTypes(4).Uint32), func(e allTypes) bool { return e.Uint32 < rowOfAllTypes(4).Uint32 }},
		"float":               {Where("float64", LessOrEqual, 2), func(e allTypes) bool { return e.Float64 <= 2 }},
		"float32":             {Where("float32", Greater, 1.25), func(e allTypes) bool { return e.Float32 > 1.25 }},
		"string":              {Where("string", Equal, "text 2"), func(e allTypes) bool { return e.String == "text 2" }},
		"string greater":      {Where("string", Greater, "text 4"), func(e allTypes) bool { return e.String > "text 4" }},
		"bytes":               {Where("fixed", Less, []byte("0003")), func(e allTypes) bool { return string(e.Fixed[:]) < "0003" }},
		"array":               {Where("fixed", Equal, [4]byte([]byte("0003"))), func(e allTypes) bool { return string(e.Fixed[:]) == "0003" }},
		"bool":                {Where("bool", Equal, true), func(e allTypes) bool { return e.Bool }},
		"date":                {Where("date", GreaterOrEqual, NewDate(2020, 3, 3)), func(e allTypes) bool { return e.Date >= NewDate(2020, 3, 3) }},
		"date and time":       {Where("date", Less, moment(4)), func(e allTypes) bool { return e.Date <= rowOfAllTypes(4).Date }},
		"time":                {Where("micros", Greater, moment(4)), func(e allTypes) bool { return e.Micros.After(moment(4)) }},
		"millis":              {Where("millis", Less, moment(4)), func(e allTypes) bool { return e.Millis.Before(moment(4)) }},
		"time of day":         {Where("time", Less, 5*time.Second), func(e allTypes) bool { return e.Time < 5*time.Second }},
		"decimal":             {Where("decimal9", Less, number9), func(e allTypes) bool { return e.Decimal9 < int32(number(5)) }},
		"decimal and integer": {Where("decimal18", GreaterOrEqual, 370), func(e allTypes) bool { return e.Decimal18 >= 370_0000 }},
		"large decimal":       {Where("decimal38", Equal, rowOfAllTypes(6).Decimal38), func(e allTypes) bool { return e.Decimal38 == rowOfAllTypes(6).Decimal38 }},
		"null":                {Where("maybe_int", Equal, nil), func(e allTypes) bool { return e.MaybeInt == nil }},
		"not null":            {Where("maybe_int", NotEqual, nil), func(e allTypes) bool { return e.MaybeInt != nil }},
		"null does not match": {Where("maybe_int", NotEqual, 3), func(e allTypes) bool { return e.MaybeInt != nil && *e.MaybeInt != 3 }},
		"in a struct":         {Where("struct.a", Equal, 5), func(e allTypes) bool { return e.Struct.A == 5 }},
		"in a struct or null": {Where("maybe_struct.a", Greater, 5), func(e allTypes) bool { return e.MaybeStruct != nil && e.MaybeStruct.A > 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			var want []allTypes
			for i := range 10 {
				if e := rowOfAllTypes(i); test.match(e) {
					want = append(want, e)
				}
			}
			rows, err := readFile[allTypes](t, "testdata/pyarrow-snappy.parquet", 0, test.where)
			require.NoError(t, err)
			require.Len(t, rows, len(want))
			for i := range rows {
				want[i].Bytes, rows[i].Bytes = nil, nil
			}
			require.Equal(t, want, rows)
			// No field of the struct belongs to the column.
			texts, err := readFile[strs](t, "testdata/pyarrow-snappy.parquet", 0, test.where)
			require.NoError(t, err)
			require.Len(t, texts, len(want))
			for i := range texts {
				require.Equal(t, want[i].String, texts[i].String)
			}
		})
	}
	rows, err := readFile[int64s](t, "testdata/pyarrow-snappy.parquet", 0, Where("int8", Greater, -49), Where("bool", Equal, false), Where("maybe_int", NotEqual, nil))
	require.NoError(t, err)
	require.Equal(t, []int64s{{rowOfAllTypes(3).Int64}, {rowOfAllTypes(5).Int64}, {rowOfAllTypes(9).Int64}}, rows)
}

func TestWhereReportsInvalidPredicates(t *testing.T) {
	for want, where := range map[string]ReadOption{
		`Where("other", ==, 1): there is no column "other": there are ["bool"`:                  Where("other", Equal, 1),
		`the column has the type BYTE_ARRAY (String): its values cannot be compared with a int`: Where("string", Equal, 1),
		`cannot be compared with a float64`:                                                     Where("int64", Equal, 1.5),
		`cannot be compared with a string`:                                                      Where("date", Equal, "2020-01-01"),
		`nil has no order`:                                                                      Where("int64", Less, nil),
		`"struct" has several columns: there are ["a" "b"]`:                                     Where("struct", Equal, 1),
		`the column is in a list or map`:                                                        Where("list.list.element", Equal, 1),
		`the column "int64" has no columns below it`:                                            Where("int64.a", Equal, 1),
		`there is no such operator`:                                                             Where("int64", Operator(17), 1),
	} {
		_, err := readFile[int64s](t, "testdata/pyarrow-snappy.parquet", 0, where)
		require.ErrorContains(t, err, want)
	}
}

func TestRowGroupsWithoutMatchesAreNotRead(t *testing.T) {
	content, err := os.ReadFile("testdata/pyarrow-snappy.parquet")
	require.NoError(t, err)
	for i := 4; i < 2000; i++ { // a large part of the first row group
		content[i] = 0xff
	}
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	_, err = readFile[int64s](t, path, 0)
	require.ErrorContains(t, err, path+`: row group 0, column "int64"`)
	for _, where := range []ReadOption{
		Where("int64", Greater, rowOfAllTypes(4).Int64), Where("int64", Equal, rowOfAllTypes(6).Int64), Where("date", Greater, rowOfAllTypes(4).Date),
		Where("string", Less, "a"), Where("float64", GreaterOrEqual, rowOfAllTypes(5).Float64), Where("uint32", Less, rowOfAllTypes(4).Uint32),
		Where("decimal18", Greater, NewDecimal(number(4), 4)), Where("int64", Equal, nil), Where("nanos", Greater, moment(4)),
	} {
		_, err := readFile[int64s](t, path, 0, where)
		require.NoError(t, err)
	}
}
