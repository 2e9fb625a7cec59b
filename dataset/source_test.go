package dataset_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// person is a row of the tables in the tests.
type person struct {
	Name    string
	Age     int8
	Height  float64 `csv:"size"`
	Married bool
	Host    netip.Addr
	Note    []byte
	Skipped map[string]int `csv:"-" json:"-"`
}

// table describes which file to read, and how.
type table struct {
	Path      string
	Split     int64
	Header    bool
	Lines     bool
	Delimiter rune
}

func (t table) options() []dataset.ReadOption {
	options := []dataset.ReadOption{dataset.SplitSize(t.Split)}
	if t.Header {
		options = append(options, dataset.Header())
	}
	if t.Lines {
		options = append(options, dataset.LineRecords())
	}
	if t.Delimiter != 0 {
		options = append(options, dataset.Delimiter(t.Delimiter))
	}
	return options
}

var (
	csvPersons = dataset.Define("persons in CSV", func(p *dataset.Plan, in table) *dataset.Of[person] {
		return dataset.CSV[person](p, in.Path, in.options()...)
	})
	csvRecords = dataset.Define("records in CSV", func(p *dataset.Plan, in table) *dataset.Of[[]string] {
		return dataset.CSV[[]string](p, in.Path, in.options()...)
	})
	csvSorted = dataset.Define("sorted CSV", func(p *dataset.Plan, in table) *dataset.Of[string] {
		persons := dataset.CSV[person](p, in.Path, in.options()...)
		return dataset.Sort(dataset.Map(persons, func(p person) string { return p.Name }))
	})
	jsonPersons = dataset.Define("persons in JSON", func(p *dataset.Plan, path string) *dataset.Of[person] {
		return dataset.JSON[person](p, path, dataset.SplitSize(500))
	})
	arrowSums = dataset.Define("Arrow", func(p *dataset.Plan, path string) *dataset.Of[string] {
		return dataset.Map(dataset.ArrowRecords(p, path), func(r arrow.RecordBatch) string {
			names, _ := r.Column(0).(*array.String)
			return fmt.Sprint(r.NumRows(), " ", strings.Clone(names.Value(0)))
		})
	})
)

func persons(n int) []person {
	all := make([]person, n)
	for i := range all {
		all[i] = person{Name: fmt.Sprintf("name %d, \"x\"", i), Age: int8(i % 128), Height: float64(i) / 3, Married: i%2 == 0,
			Host: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), Note: []byte("a note")}
	}
	return all
}

// write writes a file and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func csvText(all []person, delimiter string) string {
	var text strings.Builder
	for _, p := range all {
		quoted := `"` + strings.ReplaceAll(p.Name, `"`, `""`) + `"`
		fmt.Fprintln(&text, strings.Join([]string{quoted, fmt.Sprint(p.Age), fmt.Sprint(p.Height), fmt.Sprint(p.Married), p.Host.String(), string(p.Note)}, delimiter))
	}
	return text.String()
}

const csvHeader = "\ufeffName,Age,size,Married,Host,Note\n"

func TestCSV(t *testing.T) {
	all := persons(300)
	plain := write(t, "a.csv", csvText(all, ","))
	header := write(t, "a.csv", csvHeader+csvText(all, ","))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, in := range []table{
			{Path: plain},
			{Path: plain, Lines: true, Split: 1000},
			{Path: header, Header: true},
			{Path: header, Header: true, Lines: true, Split: 1000},
			{Path: write(t, "a.csv", csvText(all, ";")), Delimiter: ';'},
		} {
			got, err := csvPersons.With(session, in).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, all, got)
			names, err := csvSorted.With(session, in).Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 300, names)
		}
		columns := write(t, "b.csv", "Note,Extra,Name,Married,Host,size,Age\nn,e,\"two\nlines\",true,::1,1.5,7\n")
		got, err := csvPersons.With(session, table{Path: columns, Header: true}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []person{{Name: "two\nlines", Age: 7, Height: 1.5, Married: true, Host: netip.IPv6Loopback(), Note: []byte("n")}}, got)

		records, err := csvRecords.With(session, table{Path: write(t, "c.csv", "a,b\n\nc\n\"\"\n\"d\ne\",f,g")}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"a", "b"}, {"c"}, {""}, {"d\ne", "f", "g"}}, records)

		lines := strings.Repeat("\"one\ntwo\",2\n", 100)
		records, err = csvRecords.With(session, table{Path: write(t, "d.csv", lines), Split: 8}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, slices.Repeat([][]string{{"one\ntwo", "2"}}, 100), records)
		stages := dataset.Summary(session)
		require.Equal(t, 1, stages[len(stages)-1].Tasks, "fields may have line breaks, so one task reads the file")
	})
}

func TestInvalidCSV(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"Name,Age\n", `line 1: the header has no column "size": it has ["Name" "Age"]`},
		{csvHeader + "a,1,1,true,::1,\n\nb,x,1,true,::1,\n", `line 4: field Age: strconv.ParseInt: parsing "x": invalid syntax`},
		{csvHeader + "a,300,1,true,::1,\n", `value out of range`},
		{csvHeader + "a,1,1,true,here,\n", `line 2: field Host: ParseAddr("here")`},
		{csvHeader + "a,1\n", `line 2: the record has 2 fields: want 6`},
		{csvHeader + "a\"b,1\n", `line 2: bare " in non-quoted-field; if a field has`},
		{csvHeader + "\"a\nb\",1,1,true,::1,\n", `line 2: a field has a line break in quotes: read the files without the option LineRecords`},
		{csvHeader + "\"a\nb", `line 2: extraneous or missing " in quoted-field; if a field has a line break in quotes`},
	} {
		run(t, func(ctx context.Context, session *bobbin.Session) {
			path := write(t, "bad.csv", test.text)
			_, err := csvPersons.With(session, table{Path: path, Header: true, Lines: true}).Collect(ctx)
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
		})
	}
	// A line break in quotes is reported, whatever the size of the splits is.
	text := strings.Repeat("\"one\ntwo\",2\n", 20)
	for size := int64(1); size < 40; size += 3 {
		run(t, func(ctx context.Context, session *bobbin.Session) {
			_, err := csvRecords.With(session, table{Path: write(t, "bad.csv", text), Lines: true, Split: size}).Collect(ctx)
			require.ErrorContains(t, err, "without the option LineRecords")
		})
	}
}

func TestJSON(t *testing.T) {
	all := persons(50)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		out := filepath.Join(t.TempDir(), "out")
		require.NoError(t, csvPersons.With(session, table{Path: write(t, "a.csv", csvText(all, ","))}).Save(ctx, out, dataset.AsJSON))
		got, err := jsonPersons.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, all, got)
		bad := write(t, "bad.json", "{\"Name\":\"a\"}\n  \n{\"Age\":\"many\"}\n")
		_, err = jsonPersons.With(session, bad).Collect(ctx)
		require.ErrorContains(t, err, bad+": line 3: json: cannot unmarshal string")
		_, err = jsonPersons.With(session, write(t, "bad.json", strings.Repeat("{}\n", 200)+"{")).Collect(ctx)
		require.ErrorContains(t, err, "line 34 of those that begin after byte 500: unexpected end of JSON input")
	})
}

func TestTextRefusesBinaryFormats(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		orc := write(t, "part-0.orc", "ORC")
		_, err := jsonPersons.With(session, orc).Collect(ctx)
		require.ErrorContains(t, err, orc+" has no lines: ORC is not read; write the data as Parquet")
		_, err = csvPersons.With(session, table{Path: write(t, "part-0.parquet", "PAR1")}).Collect(ctx)
		require.ErrorContains(t, err, "part-0.parquet has no lines: read it with package dataset/parquet")

		hive := write(t, "000000_0", "ORC\n\x82\xf4\x03\x03ORC\x17") // as Hive names its files
		_, err = jsonPersons.With(session, hive).Collect(ctx)
		require.ErrorContains(t, err, hive+" has no lines: ORC is not read; write the data as Parquet")
		_, err = csvRecords.With(session, table{Path: hive}).Collect(ctx)
		require.ErrorContains(t, err, hive+" has no lines: ORC is not read; write the data as Parquet")
		records, err := csvRecords.With(session, table{Path: write(t, "text", "ORC,1\nORC\n")}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, [][]string{{"ORC", "1"}, {"ORC"}}, records)
	})
}

func TestArrowRecords(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "name", Type: arrow.BinaryTypes.String}}, nil)
	dir := t.TempDir()
	create := func(name string) *os.File {
		file, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	writeAll := func(w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}, prefix string) {
		for i := range 3 {
			names := array.NewStringBuilder(memory.DefaultAllocator)
			names.AppendValues([]string{fmt.Sprint(prefix, i), "another"}, nil)
			require.NoError(t, w.Write(array.NewRecordBatch(schema, []arrow.Array{names.NewArray()}, -1)))
		}
		require.NoError(t, w.Close())
	}
	file, err := ipc.NewFileWriter(create("a.arrow"), ipc.WithSchema(schema))
	require.NoError(t, err)
	writeAll(file, "file")
	writeAll(ipc.NewWriter(create("b.arrows"), ipc.WithSchema(schema)), "stream")
	zipped := gzip.NewWriter(create("c.gz"))
	writeAll(ipc.NewWriter(zipped, ipc.WithSchema(schema)), "zipped")
	require.NoError(t, zipped.Close())

	require.Equal(t, []string{"2 file0", "2 file1", "2 file2", "2 stream0", "2 stream1", "2 stream2", "2 zipped0", "2 zipped1", "2 zipped2"},
		collect(t, arrowSums, dir))
	content, err := os.ReadFile(filepath.Join(dir, "a.arrow"))
	require.NoError(t, err)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for size := 1; size < len(content); size += len(content) / 7 {
			path := write(t, "damaged.arrow", string(content[:size]))
			_, err := arrowSums.With(session, path).Collect(ctx)
			require.ErrorContains(t, err, path)
		}
	})
}

var (
	textWithHeader = dataset.Define("text with header", func(p *dataset.Plan, path string) *dataset.Of[[]byte] {
		return dataset.Text(p, path, dataset.Header())
	})
	csvOfMaps = dataset.Define("CSV of maps", func(p *dataset.Plan, path string) *dataset.Of[struct{ M map[string]int }] {
		return dataset.CSV[struct{ M map[string]int }](p, path)
	})
	csvOfNumbers = dataset.Define("CSV of numbers", func(p *dataset.Plan, path string) *dataset.Of[int] { return dataset.CSV[int](p, path) })
)

func TestInvalidSources(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := textWithHeader.With(session, "x").Len(ctx)
		require.ErrorContains(t, err, "options of CSV")
		_, err = csvOfMaps.With(session, "x").Len(ctx)
		require.ErrorContains(t, err, "CSV at source_test.go")
		require.ErrorContains(t, err, "field M")
		_, err = csvOfNumbers.With(session, "x").Len(ctx)
		require.ErrorContains(t, err, "cannot be of type int")
	})
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && e.Name() != "_SUCCESS" {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

func TestSaveAsCSV(t *testing.T) {
	all := persons(100)
	in := write(t, "a.csv", csvText(all, ","))
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for n, test := range []struct {
			options []dataset.SaveOption
			file    string
			read    table
		}{
			{nil, "part-00000", table{}},
			{[]dataset.SaveOption{dataset.Compress("gzip")}, "part-00000.gz", table{}},
			{[]dataset.SaveOption{dataset.Compress("zstd"), dataset.WriteHeader()}, "part-00000.zst", table{Header: true}},
			{[]dataset.SaveOption{dataset.Compress("bzip2"), dataset.WriteHeader()}, "part-00000.bz2", table{Header: true, Lines: true, Split: 100}},
			{[]dataset.SaveOption{dataset.Compress("snappy")}, "part-00000.snappy", table{}},
		} {
			path := fmt.Sprint(out, n)
			require.NoError(t, csvPersons.With(session, table{Path: in}).Save(ctx, path, dataset.AsCSV, test.options...))
			require.Equal(t, test.file, files(t, path)[0])
			test.read.Path = path
			got, err := csvPersons.With(session, test.read).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, all, got)
		}
		records := csvRecords.With(session, table{Path: write(t, "b.csv", "a,b\n\"\"\n\"x\ny\"\n")})
		require.NoError(t, records.Save(ctx, out+"records", dataset.AsCSV))
		content, err := os.ReadFile(filepath.Join(out+"records", "part-00000"))
		require.NoError(t, err)
		require.Equal(t, "a,b\n\"\"\n\"x\ny\"\n", string(content))
	})
}

func TestSaveModes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		three, five := mapped.With(session, numbers{6, 1}), mapped.With(session, numbers{10, 2})
		require.NoError(t, three.Save(ctx, out, dataset.AsText))
		require.ErrorIs(t, five.Save(ctx, out, dataset.AsText), os.ErrExist)
		require.NoError(t, five.Save(ctx, out, dataset.AsText, dataset.Append()))
		lines, err := textLines.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, lines, 8)
		require.Len(t, files(t, out), 3)
		require.NoError(t, textLines.With(session, out).Save(ctx, out, dataset.AsText, dataset.Overwrite(), dataset.Compress("gzip")))
		again, err := textLines.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.ElementsMatch(t, lines, again)
		require.NoError(t, three.Save(ctx, out, dataset.AsText, dataset.Overwrite()))
		require.Equal(t, []string{"part-00000"}, files(t, out))

		require.ErrorContains(t, failing.With(session, numbers{10, 2}).Save(ctx, out, dataset.AsJSON, dataset.Overwrite()), "three is no number")
		require.Equal(t, []string{"part-00000"}, files(t, out), "what was there stays")
		require.ErrorContains(t, three.Save(ctx, out, dataset.AsText, dataset.Overwrite(), dataset.Append()), "exclude each other")
		require.ErrorContains(t, three.Save(ctx, out, dataset.AsText, dataset.Compress("lzo")), `unknown compression "lzo"`)
		require.ErrorContains(t, three.Save(ctx, out, dataset.AsText, dataset.WriteHeader()), "WriteHeader needs the format AsCSV")
		require.ErrorContains(t, three.Save(ctx, out, dataset.AsCSV), "cannot be of type string")
	})
	left, err := os.ReadDir(filepath.Dir(out))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing temporary is left")
}

var textLines = dataset.Define("text lines", func(p *dataset.Plan, path string) *dataset.Of[string] {
	return dataset.Map(dataset.Text(p, path), func(line []byte) string { return string(line) })
})
