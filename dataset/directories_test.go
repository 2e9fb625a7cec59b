package dataset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/storage"
)

// visit is a row of a table that is saved in directories by date and country.
type visit struct {
	ID      int64
	Date    time.Time `partition:"date" json:"-"`
	Country *string   `partition:"country" json:"-"`
}

func (v visit) String() string {
	country := "nil"
	if v.Country != nil {
		country = *v.Country
	}
	return fmt.Sprint(v.ID, " ", v.Date.Format(time.DateOnly), " ", country)
}

// visitFiles describes which files to read, in which format, and of which country; the
// country "" means all.
type visitFiles struct {
	Path    string
	Format  string
	Country string
}

var readVisits = dataset.Define("read visits", func(p *dataset.Plan, in visitFiles) *dataset.Of[string] {
	var options []dataset.ReadOption
	if in.Country != "" {
		options = append(options, dataset.Partition("country", func(value string) bool {
			if value == "panic" {
				panic("no country")
			}
			return value == in.Country
		}))
	}
	var rows *dataset.Of[visit]
	switch in.Format {
	case "text":
		return dataset.Map(dataset.Text(p, in.Path, options...), func(line []byte) string { return string(line) })
	case "csv":
		rows = dataset.CSV[visit](p, in.Path, append(options, dataset.Header())...)
	case "files":
		rows = dataset.Files(p, "Visits", in.Path, readJSONFile, options...)
	default:
		rows = dataset.JSON[visit](p, in.Path, options...)
	}
	return dataset.Sort(dataset.Map(rows, visit.String))
})

// readJSONFile reads a file that bufferedFormat wrote.
func readJSONFile(in *dataset.FileSplit, emit func(visit) bool) error {
	file, err := storage.From(in.Task).Open(in.Task, in.Split.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	var rows []visit
	if err := json.NewDecoder(file).Decode(&rows); err != nil {
		return dataset.Malformed(err)
	}
	for _, row := range rows {
		if !emit(row) {
			return nil
		}
	}
	return nil
}

// bufferedFormat buffers all rows of a file in memory until Close, so its field Streams is
// false.
var bufferedFormat = dataset.RegisterFormat(dataset.FormatDescription{
	Name:   "rows of a test",
	Suffix: func(string) (string, error) { return ".rows", nil },
	NewEncoder: func(file io.Writer, _ reflect.Type, _ dataset.EncodeOptions) (dataset.Encoder, error) {
		return &rowEncoder{file: file}, nil
	},
})

type rowEncoder struct {
	file io.Writer
	rows []json.RawMessage
}

func (e *rowEncoder) Write(element any) error {
	row, err := json.Marshal(element)
	e.rows = append(e.rows, row)
	return err
}

func (e *rowEncoder) Close() error { return json.NewEncoder(e.file).Encode(e.rows) }

func TestPartitionDirectoriesAreColumns(t *testing.T) {
	root := filepath.Join(t.TempDir(), "region=EU")
	put := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
	}
	put("date=2024-01-31/country=fr/part-00000.json", `{"ID":1}`+"\n"+`{"ID":2}`)
	put("date=2024-01-31/country=C%C3%B4te d%27Ivoire/a.json", `{"ID":3}`)
	put("date=2024-02-01/country=__HIVE_DEFAULT_PARTITION__/a.json", `{"ID":4}`)
	put("date=2024-02-01/country=fr/deeper/a.json", `{"ID":5}`)
	put("_SUCCESS", "x")
	put("date=2024-02-01/_temporary/0/a.json", "hidden")
	put("date=2024-02-01/.a.json.crc", "hidden")
	all := []string{"1 2024-01-31 fr", "2 2024-01-31 fr", "3 2024-01-31 Côte d'Ivoire", "4 2024-02-01 nil", "5 2024-02-01 fr"}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		got, err := readVisits.With(session, visitFiles{Path: root}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, all, got)
		got, err = readVisits.With(session, visitFiles{Path: filepath.Join(root, "date=2024-02-01")}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, all[3:], got, "the directories above the path count, too")

		// A symbolic link to a directory above it cannot be listed.
		require.NoError(t, os.Symlink(root, filepath.Join(root, "date=2024-02-01/country=loop")))
		_, err = readVisits.With(session, visitFiles{Path: root}).Collect(ctx)
		require.ErrorContains(t, err, "leads back")
		for country, want := range map[string][]string{
			"fr": {all[0], all[1], all[4]}, "Côte d'Ivoire": {all[2]}, dataset.NullPartition: {all[3]}, "de": nil,
		} {
			got, err := readVisits.With(session, visitFiles{Path: root, Country: country}).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, want, got, "others are not listed")
		}
		got, err = readVisits.With(session, visitFiles{Path: filepath.Join(root, "date=2024-01-31/country=fr"), Country: "de"}).Collect(ctx)
		require.NoError(t, err)
		require.Empty(t, got, "directories above the path are chosen, too")
		lines, err := readVisits.With(session, visitFiles{Path: root, Country: dataset.NullPartition, Format: "text"}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{`{"ID":4}`}, lines)
	})
}

func TestInvalidPartitionDirectories(t *testing.T) {
	for want, names := range map[string][]string{
		"date=x/country=fr: the value \"x\" of date, for field Date: want a time": {"date=x/country=fr"},
		"the field cannot be null":                                  {"date=__HIVE_DEFAULT_PARTITION__/country=fr"},
		"is named date=value, as field Date needs":                  {"country=fr", "date=2024-01-31/country=fr"},
		"as the option Partition(\"country\") needs":                {"date=2024-01-31"},
		"Partition(\"country\") panicked for \"panic\": no country": {"date=2024-01-31/country=panic"},
	} {
		root := t.TempDir()
		for _, name := range names {
			require.NoError(t, os.MkdirAll(filepath.Join(root, name), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, name, "a"), []byte(`{"ID":1}`), 0o600))
		}
		run(t, func(ctx context.Context, session *bobbin.Session) {
			_, err := readVisits.With(session, visitFiles{Path: root, Country: "fr"}).Collect(ctx)
			require.ErrorContains(t, err, want)
			if !strings.Contains(want, "panicked") {
				require.ErrorContains(t, err, "file://"+root+"/")
			}
		})
	}
}

// saved describes visits on Days days of January 2024, the first of which is First. On each
// day there are three visits in each of Countries countries.
type saved struct{ First, Days, Countries int }

func (s saved) rows() (all []visit) {
	for i := range 3 * s.Days * s.Countries {
		country := fmt.Sprintf("c/%02d", i%s.Countries)
		v := visit{ID: int64(s.First*1000 + i), Date: time.Date(2024, 1, s.First+i/s.Countries%s.Days, 0, 0, 0, 0, time.UTC), Country: &country}
		if i%s.Countries == 0 {
			v.Country = nil
		}
		all = append(all, v)
	}
	return all
}

var savedVisits = dataset.Define("saved visits", func(p *dataset.Plan, s saved) *dataset.Of[visit] {
	return dataset.Slice(p, s.rows(), 2)
})

func TestSavePartitioned(t *testing.T) {
	root := t.TempDir()
	want := func(tables ...saved) (rows []string) {
		for _, s := range tables {
			for _, v := range s.rows() {
				rows = append(rows, v.String())
			}
		}
		slices.Sort(rows)
		return rows
	}
	by := dataset.PartitionBy("date", "country")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		january := saved{1, 3, 7} // 21 directories, more than the files that a task writes at the same time
		for name, format := range map[string]dataset.Format{"json": dataset.AsJSON, "csv": dataset.AsCSV, "files": bufferedFormat} {
			out := filepath.Join(root, name)
			options := []dataset.SaveOption{by}
			if name == "csv" {
				options = append(options, dataset.WriteHeader(), dataset.Compress("gzip"))
			}
			require.NoError(t, savedVisits.With(session, january).Save(ctx, out, format, options...))
			got, err := readVisits.With(session, visitFiles{Path: out, Format: name}).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, want(january), got, name)
			require.Len(t, directoriesOf(t, out), 21)
			require.Contains(t, directoriesOf(t, out), "date=2024-01-03/country=c%2F06")
		}
		out := filepath.Join(root, "json")
		content, err := os.ReadFile(filepath.Join(out, "date=2024-01-01/country=c%2F01/part-00000"))
		require.NoError(t, err)
		require.Equal(t, "{\"ID\":1001}\n{\"ID\":1022}\n", string(content), "the columns of directories are not in files")

		read := func() []string {
			got, err := readVisits.With(session, visitFiles{Path: out}).Collect(ctx)
			require.NoError(t, err)
			return got
		}
		require.ErrorIs(t, savedVisits.With(session, january).Save(ctx, out, dataset.AsJSON, by), fs.ErrExist)
		more := saved{4, 1, 2}
		require.NoError(t, savedVisits.With(session, more).Save(ctx, out, dataset.AsJSON, by, dataset.Append()))
		require.Equal(t, want(january, more), read())
		other := saved{4, 1, 3} // the directories of more, and another one
		require.NoError(t, savedVisits.With(session, other).Save(ctx, out, dataset.AsJSON, by, dataset.DynamicOverwrite()))
		require.Equal(t, want(january, other), read())
		require.NoError(t, savedVisits.With(session, saved{1, 0, 1}).Save(ctx, out, dataset.AsJSON, by, dataset.DynamicOverwrite()))
		require.Equal(t, want(january, other), read(), "nothing is replaced by nothing")
		require.NoError(t, savedVisits.With(session, more).Save(ctx, out, dataset.AsJSON, by, dataset.Overwrite()))
		require.Equal(t, want(more), read())
	})
	left, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, left, 3, "nothing temporary is left")
}

// event is a row of the table that Spark wrote; see testdata/spark-directories.md.
type event struct {
	ID      int64
	Country string     `partition:"country" json:"-"`
	Date    *time.Time `partition:"date" json:"-"`
	Hour    *int       `partition:"hour" json:"-"`
	Moment  *time.Time `partition:"moment" json:"-"`
}

var (
	sparkEvents = []event{
		{1, "plain", pointer(time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)), pointer(7), pointer(time.Date(2024, 1, 31, 23, 59, 59, 5e8, time.UTC))},
		{2, "a/b:c=d %41 'q' \"r\" [x]{y}^*?#\\ é\t", pointer(time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)), pointer(-1), pointer(time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC))},
		{3, "", nil, nil, nil},
		{4, "", pointer(time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC)), pointer(7), pointer(time.Date(2024, 1, 31, 1, 2, 3, 0, time.UTC))},
	}
	readEvents = dataset.Define("read events", func(p *dataset.Plan, path string) *dataset.Of[event] {
		return dataset.SortBy(dataset.JSON[event](p, path), func(e event) int64 { return e.ID })
	})
)

func pointer[T any](v T) *T { return &v }

func TestReadsPartitionDirectoriesOfSpark(t *testing.T) {
	const written = "testdata/spark-directories"
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		events := readEvents.With(session, written)
		got, err := events.Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, sparkEvents, got)
		require.NoError(t, events.Save(ctx, out, dataset.AsJSON, dataset.PartitionBy("country", "date", "hour", "moment")))
		got, err = readEvents.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, sparkEvents, got)
	})
	want := directoriesOf(t, written)
	for i := range want { // Spark has different types for days and times, Go has one for both
		want[i] = strings.TrimSuffix(want[i], " 00%3A00%3A00")
	}
	require.Equal(t, want, directoriesOf(t, out))
}

// directoriesOf returns the directories below a root that contain visible files.
func directoriesOf(t *testing.T, root string) []string {
	t.Helper()
	found := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasPrefix(d.Name(), "part-") {
			found[strings.TrimPrefix(filepath.Dir(path), root+"/")] = true
		}
		return err
	}))
	return slices.Sorted(maps.Keys(found))
}

func TestPartitionByRefusesInvalidSaves(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		rows := savedVisits.With(session, saved{1, 1, 1})
		for want, options := range map[string][]dataset.SaveOption{
			"has no field with the tag `partition:\"hour\"`":                  {dataset.PartitionBy("date", "country", "hour")},
			"Country of dataset_test.visit has the tag partition:\"country\"": {dataset.PartitionBy("date")},
			"DynamicOverwrite needs the option PartitionBy":                   {dataset.DynamicOverwrite()},
			"Overwrite, DynamicOverwrite and Append exclude each other":       {dataset.PartitionBy("date", "country"), dataset.DynamicOverwrite(), dataset.Overwrite()},
		} {
			require.ErrorContains(t, rows.Save(ctx, out, dataset.AsJSON, options...), want)
		}
		require.ErrorContains(t, rows.Save(ctx, out, dataset.AsText, dataset.PartitionBy("date", "country")), "cannot be written as text")
		require.NoDirExists(t, out)
	})
}
