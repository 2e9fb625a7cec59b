//go:build integration

package formats_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/parquet"
)

type visit struct {
	ID    int64
	Name  string
	Price float64
	Done  bool
}

// placedVisit is a visit whose country and day are in the names of directories.
type placedVisit struct {
	ID      int64
	Name    string
	Price   float64
	Done    bool
	Country *string   `partition:"country" json:"-" csv:"-"`
	Day     time.Time `partition:"day" json:"-" csv:"-"`
}

// placedVisits returns n rows, whose texts need quotes and escapes.
func placedVisits(n int) []placedVisit {
	names := []string{"a,\"b\"\nä", "", " x ", `back\slash`, "'quoted'\ttab"}
	france, other := "fr", "a/b c%=ä"
	countries := []*string{&france, &other, nil}
	rows := make([]placedVisit, n)
	for i := range rows {
		rows[i] = placedVisit{
			ID: int64(i) << 33, Name: names[i%len(names)], Price: float64(i) / 8, Done: i%2 == 1,
			Country: countries[i%len(countries)], Day: time.Date(2024, 1, 30+i%2, 0, 0, 0, 0, time.UTC),
		}
	}
	return rows
}

func (v placedVisit) visit() visit { return visit{v.ID, v.Name, v.Price, v.Done} }

// line returns the name without its line breaks.
func (v placedVisit) line() string { return strings.ReplaceAll(v.Name, "\n", " ") }

const numberOfVisits = 600

var (
	allVisits = dataset.Define("visits", func(p *dataset.Plan, _ struct{}) *dataset.Of[visit] {
		return dataset.Map(dataset.Slice(p, placedVisits(numberOfVisits), 2), placedVisit.visit)
	})
	allPlacedVisits = dataset.Define("placed visits", func(p *dataset.Plan, _ struct{}) *dataset.Of[placedVisit] {
		return dataset.Slice(p, placedVisits(numberOfVisits), 2)
	})
	allNames = dataset.Define("names", func(p *dataset.Plan, _ struct{}) *dataset.Of[string] {
		return dataset.Map(dataset.Slice(p, placedVisits(numberOfVisits), 1), placedVisit.line)
	})
	readNames = dataset.Define("read names", func(p *dataset.Plan, path string) *dataset.Of[string] {
		return dataset.Map(dataset.Text(p, path), func(line []byte) string { return string(line) })
	})
	textFormats  = map[string]dataset.Format{"csv": dataset.AsCSV, "json": dataset.AsJSON}
	readVisits   = map[string]*dataset.Definition[string, visit]{"csv": defineCSV[visit]("visits"), "json": defineJSON[visit]("visits")}
	placeFormats = map[string]dataset.Format{"csv": dataset.AsCSV, "json": dataset.AsJSON, "parquet": parquet.Format}
	readPlaced   = map[string]*dataset.Definition[string, placedVisit]{
		"csv": defineCSV[placedVisit]("placed visits"), "json": defineJSON[placedVisit]("placed visits"),
		"parquet": dataset.Define("placed visits of Parquet", func(p *dataset.Plan, path string) *dataset.Of[placedVisit] {
			return parquet.Read[placedVisit](p, path)
		}),
	}
)

func defineCSV[T any](name string) *dataset.Definition[string, T] {
	return dataset.Define(name+" of CSV", func(p *dataset.Plan, path string) *dataset.Of[T] { return dataset.CSV[T](p, path, dataset.Header()) })
}

func defineJSON[T any](name string) *dataset.Definition[string, T] {
	return dataset.Define(name+" of JSON", func(p *dataset.Plan, path string) *dataset.Of[T] { return dataset.JSON[T](p, path) })
}

// TestPythonExchangesText checks that DuckDB and pyarrow read the text files that data sets have
// saved, and that data sets read theirs.
func TestPythonExchangesText(t *testing.T) {
	installation := findPython(t)
	ours, theirs, rows := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "rows.json")
	want := placedVisits(numberOfVisits)
	var described []map[string]any
	for _, v := range want {
		described = append(described, map[string]any{
			"ID": v.ID, "Name": v.Name, "Price": v.Price, "Done": v.Done, "Country": v.Country, "Day": v.Day.Format(time.DateOnly),
		})
	}
	content, err := json.Marshal(described)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(rows, content, 0o600))
	withSession(t, func(ctx context.Context, session *bobbin.Session) {
		for name, format := range textFormats {
			for compression, codec := range map[string]string{"none": "", "gzip": "gzip", "zstd": "zstd"} {
				options := append(saveOptions(name), dataset.Compress(codec))
				require.NoError(t, allVisits.With(session, struct{}{}).Save(ctx, fmt.Sprintf("%s/%s-%s", ours, name, compression), format, options...))
			}
		}
		for name, format := range placeFormats {
			options := append(saveOptions(name), dataset.PartitionBy("country", "day"))
			require.NoError(t, allPlacedVisits.With(session, struct{}{}).Save(ctx, ours+"/partitioned-"+name, format, options...))
		}
		require.NoError(t, allNames.With(session, struct{}{}).Save(ctx, ours+"/text", dataset.AsText, dataset.Compress("zstd")))
	})
	output, err := installation.Command(t.Context(), "text.py", rows, ours, theirs).CombinedOutput()
	require.NoError(t, err, "%s", output)
	withSession(t, func(ctx context.Context, session *bobbin.Session) {
		var visits []visit
		var lines []string
		for _, v := range want {
			visits, lines = append(visits, v.visit()), append(lines, v.line())
		}
		for name := range textFormats {
			for _, file := range []string{"none." + name, "gzip." + name + ".gz", "zstd." + name + ".zst"} {
				got, err := readVisits[name].With(session, fmt.Sprintf("%s/%s-%s", theirs, name, file)).Collect(ctx)
				require.NoError(t, err)
				require.Equal(t, visits, got, file)
			}
		}
		for name := range placeFormats {
			got, err := readPlaced[name].With(session, theirs+"/partitioned-"+name).Collect(ctx)
			require.NoError(t, err)
			slices.SortFunc(got, func(a, b placedVisit) int { return cmp.Compare(a.ID, b.ID) })
			require.Equal(t, want, got, name)
		}
		got, err := readNames.With(session, theirs+"/text").Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, lines, got)
	})
}

// saveOptions returns the options with which a format is saved.
func saveOptions(format string) []dataset.SaveOption {
	if format == "csv" {
		return []dataset.SaveOption{dataset.WriteHeader()}
	}
	return nil
}
