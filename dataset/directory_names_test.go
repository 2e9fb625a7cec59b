package dataset

import (
	"math"
	"path"
	"reflect"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestPartitionDirectoryNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"date=2024-01-31":       {"date", "2024-01-31"},
		"a=":                    {"a", ""},
		"a=b=c":                 {"a", "b=c"},
		"a%3Db=x%2Fy%25%":       {"a=b", "x/y%%"},
		"a=%":                   {"a", "%"},
		"a=%4":                  {"a", "%4"},
		"a=%zz%2g%7e":           {"a", "%zz%2g~"},
		"a=caf%C3%A9":           {"a", "café"},
		"a=" + NullPartition:    {"a", NullPartition},
		"ts=2024-01-31 1%3A0:5": {"ts", "2024-01-31 1:0:5"},
	} {
		column, value, ok := directoryColumn(name)
		require.True(t, ok, name)
		require.Equal(t, want, [2]string{column, value}, name)
	}
	for _, name := range []string{"", "date", "=x"} {
		_, _, ok := directoryColumn(name)
		require.False(t, ok, name)
	}
	require.Equal(t, `a%22%23%25%27%2A%2F%3A%3D%3F%5C%7B[é}`, string(escaped([]byte("a"), `"#%'*/:=?\{`))+"[é}")
	require.Equal(t, "%00%1F%7F%5B%5D%5E }|<>~", string(escaped(nil, "\x00\x1f\x7f[]^ }|<>~")))
}

func TestPartitionValuesInPaths(t *testing.T) {
	directory := "hdfs://host/a=0/b=2/c/a=1"
	for column, want := range map[string]string{"a": "1", "b": "2"} {
		value, ok := directoryValue(directory, column)
		require.True(t, ok)
		require.Equal(t, want, value)
	}
	_, ok := directoryValue(directory, "c")
	require.False(t, ok)
}

func FuzzNamesOfDirectories(f *testing.F) {
	f.Add("date", "2024-01-31 10:00:00")
	f.Add("%", "%41%")
	f.Fuzz(func(t *testing.T, column, value string) {
		name := string(escaped(append(escaped(nil, column), '='), value))
		require.Equal(t, name, path.Base("x/"+name), "it is one name")
		gotColumn, gotValue, ok := directoryColumn(name)
		require.Equal(t, column != "", ok)
		require.Equal(t, column, gotColumn)
		require.Equal(t, value, gotValue)
		require.Equal(t, utf8.ValidString(column+value), utf8.ValidString(name))
	})
}

// partitioned has a field for each type of value in the names of directories.
type partitioned struct {
	Text    string     `partition:"text"`
	Null    *string    `partition:"null"`
	Int     int16      `partition:"int"`
	Uint    *uint64    `partition:"uint"`
	Float   float64    `partition:"float"`
	Bool    bool       `partition:"bool"`
	Day     time.Time  `partition:"day"`
	Moment  *time.Time `partition:"moment"`
	Ordinal int
}

func TestPartitionFields(t *testing.T) {
	text, number, moment := "x/y", uint64(math.MaxUint64), time.Date(2024, 1, 31, 23, 59, 59, 500, time.UTC)
	day := time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)
	columns := []string{"text", "null", "int", "uint", "float", "bool", "day", "moment"}
	p, err := newPartitioning(reflect.TypeFor[partitioned](), columns)
	require.NoError(t, err)
	require.Equal(t, "struct { Ordinal int }", p.fileType.String())
	for _, test := range []struct {
		element   partitioned
		directory string
	}{
		{partitioned{Text: "a b", Null: &text, Int: -7, Uint: &number, Float: 0.5, Bool: true, Day: day, Moment: &moment},
			"text=a b/null=x%2Fy/int=-7/uint=18446744073709551615/float=0.5/bool=true/day=2024-01-31/moment=2024-01-31 23%3A59%3A59.0000005"},
		{partitioned{Day: moment}, "text=" + NullPartition + "/null=" + NullPartition + "/int=0/uint=" + NullPartition +
			"/float=0/bool=false/day=2024-01-31 23%3A59%3A59.0000005/moment=" + NullPartition},
	} {
		directory, err := p.directory(nil, reflect.ValueOf(&test.element).Elem())
		require.NoError(t, err)
		require.Equal(t, test.directory, string(directory))
		fields, err := partitionFieldsOf(reflect.TypeFor[partitioned]())
		require.NoError(t, err)
		values, err := partitionValues(fields, "/table/"+test.directory)
		require.NoError(t, err)
		var got partitioned
		for i, f := range fields {
			reflect.ValueOf(&got).Elem().Field(f.index).Set(values[i])
		}
		require.Equal(t, test.element, got)
	}
}

func TestInvalidPartitionFields(t *testing.T) {
	for want, element := range map[string]any{
		"is not exported": struct {
			date string `partition:"date"`
		}{},
		"want a string, number": struct {
			Date []int `partition:"date"`
		}{},
		"such directories are hidden": struct {
			Date string `partition:"_date"`
		}{},
		"field A has the column, too": struct {
			A string `partition:"date"`
			B string `partition:"date"`
		}{},
		"column is empty": struct {
			A string `partition:""`
		}{},
	} {
		_, err := partitionFieldsOf(reflect.TypeOf(element))
		require.ErrorContains(t, err, want)
	}
	type plain struct {
		Date string `partition:"date"`
		N    int
	}
	for want, test := range map[string]struct {
		element reflect.Type
		columns []string
	}{
		"structs, not string":       {reflect.TypeFor[string](), []string{"date"}},
		"has no field with the tag": {reflect.TypeFor[plain](), []string{"hour"}},
		"twice":                     {reflect.TypeFor[plain](), []string{"date", "date"}},
		"files would be empty": {reflect.TypeFor[struct {
			Date string `partition:"date"`
		}](), []string{"date"}},
		"a method that writes all of": {reflect.TypeFor[time.Time](), []string{"date"}},
		"embeds the unexported": {reflect.TypeFor[struct {
			plain
			Day string `partition:"date"`
		}](), []string{"date"}},
	} {
		_, err := newPartitioning(test.element, test.columns)
		require.ErrorContains(t, err, want)
	}
}
