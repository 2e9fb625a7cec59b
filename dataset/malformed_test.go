package dataset_test

import (
	"bytes"
	"context"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type item struct {
	Name string
	Size int
}

type malformedInput struct {
	Path  string
	Drop  bool
	Lines bool
	Split int64
}

func (u malformedInput) options() []dataset.ReadOption {
	options := []dataset.ReadOption{dataset.SplitSize(u.Split)}
	if u.Drop {
		options = append(options, dataset.OnMalformed(dataset.Drop))
	}
	if u.Lines {
		options = append(options, dataset.LineRecords())
	}
	return options
}

var (
	untidyJSON = dataset.Define("untidy JSON", func(p *dataset.Plan, in malformedInput) *dataset.Of[item] {
		return dataset.JSON[item](p, in.Path, in.options()...)
	})
	malformedJSON = dataset.Define("malformed JSON", func(p *dataset.Plan, in malformedInput) *dataset.Of[dataset.MalformedRecord] {
		return dataset.MalformedOf(dataset.JSON[item](p, in.Path, in.options()...))
	})
	untidyCSV = dataset.Define("untidy CSV", func(p *dataset.Plan, in malformedInput) *dataset.Of[item] {
		return dataset.CSV[item](p, in.Path, append(in.options(), dataset.Header())...)
	})
	malformedCSV = dataset.Define("malformed CSV", func(p *dataset.Plan, in malformedInput) *dataset.Of[dataset.MalformedRecord] {
		return dataset.MalformedOf(dataset.CSV[item](p, in.Path, append(in.options(), dataset.Header())...))
	})
	malformedOfMapped = dataset.Define("malformed of a Map", func(p *dataset.Plan, in string) *dataset.Of[dataset.MalformedRecord] {
		return dataset.MalformedOf(dataset.Map(dataset.JSON[item](p, in), func(i item) item { return i }))
	})
	droppedText = dataset.Define("text with OnMalformed", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
		return dataset.Text(p, in, dataset.OnMalformed(dataset.Drop))
	})
	severalPaths = dataset.Define("several paths", func(p *dataset.Plan, in []string) *dataset.Of[string] {
		return dataset.Map(dataset.Text(p, in[0], dataset.MorePaths(in[1:]...)), func(line []byte) string { return string(line) })
	})
)

func TestMalformedJSON(t *testing.T) {
	path := write(t, "a.json", `{"Name":"a","Size":1}`+"\n{broken\n\n"+`{"Name":"b","Size":2}`+"\n"+`{"Name":"c","Size":"x"}`+"\n")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := untidyJSON.With(session, malformedInput{Path: path}).Collect(ctx)
		require.ErrorContains(t, err, path+": line 2: invalid character 'b'")
		require.Zero(t, session.Counter(dataset.DroppedRecords))
		for _, split := range []int64{0, 30} {
			before := session.Counter(dataset.DroppedRecords)
			items, err := untidyJSON.With(session, malformedInput{Path: path, Drop: true, Split: split}).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, []item{{"a", 1}, {"b", 2}}, items)
			require.EqualValues(t, 2, session.Counter(dataset.DroppedRecords)-before)
			malformed, err := malformedJSON.With(session, malformedInput{Path: path, Split: split}).Collect(ctx)
			require.NoError(t, err)
			require.Len(t, malformed, 2)
			require.Equal(t, "file://"+path, malformed[0].Path)
			require.Equal(t, "{broken", malformed[0].Text)
			require.Contains(t, malformed[1].Error, "Go struct field item.Size of type int")
			if split == 0 {
				require.EqualValues(t, 5, malformed[1].Line)
			}
		}
	})
}

func TestMalformedCSV(t *testing.T) {
	path := write(t, "a.csv", "Name,Size\na,1\nb\n\"c\nc\",x\nd\"d,4\n\"e\",5\n\"f,6\n\ng,7\n")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := untidyCSV.With(session, malformedInput{Path: path}).Collect(ctx)
		require.ErrorContains(t, err, path+": line 3: the record has 1 fields: want 2")
		items, err := untidyCSV.With(session, malformedInput{Path: path, Drop: true}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []item{{"a", 1}, {"e", 5}}, items, "the quote before f has no end")
		require.EqualValues(t, 4, session.Counter(dataset.DroppedRecords))
		malformed, err := malformedCSV.With(session, malformedInput{Path: path}).Collect(ctx)
		require.NoError(t, err)
		var lines []int64
		for _, m := range malformed {
			lines = append(lines, m.Line)
		}
		require.Equal(t, []int64{3, 4, 6, 8}, lines)
		require.Equal(t, "c\nc,x", malformed[1].Text)

		items, err = untidyCSV.With(session, malformedInput{Path: path, Drop: true, Lines: true}).Collect(ctx)
		require.NoError(t, err)
		require.Contains(t, items, item{"e", 5})
	})
}

func TestDroppedRecordsAreLogged(t *testing.T) {
	path := write(t, "a.json", strings.Repeat("{\"Name\":\"a\"}\n{broken\n", 12))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		var logged bytes.Buffer
		log.SetOutput(&logged)
		defer log.SetOutput(os.Stderr)
		_, err := untidyJSON.With(session, malformedInput{Path: path, Drop: true}).Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 12, session.Counter(dataset.DroppedRecords))
		log.SetOutput(os.Stderr) // nothing may be written to logged while it is read
		dropped := regexp.MustCompile(`a malformed record was dropped error="(.*): line (\d+): `).FindAllStringSubmatch(logged.String(), -1)
		require.Len(t, dropped, 10, "the first ten of a partition are logged")
		for i, found := range dropped {
			require.Equal(t, []string{"file://" + path, strconv.Itoa(2*i + 2)}, found[1:])
		}
	})
}

func TestOnMalformedIsRefused(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := malformedOfMapped.With(session, "/a").Len(ctx)
		require.ErrorContains(t, err, "must be that of JSON or CSV")
		_, err = droppedText.With(session, "/a").Len(ctx)
		require.ErrorContains(t, err, "OnMalformed is an option of JSON and CSV")
	})
}

func TestMorePaths(t *testing.T) {
	a, b := write(t, "a.log", "1\n"), write(t, "b.log", "2\n")
	write(t, "c.txt", "3\n")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		lines, err := severalPaths.With(session, []string{a, filepath.Dir(b) + "/*.log", filepath.Dir(a) + "/{a,x}.log"}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, "1 2 1", strings.Join(lines, " "))
		_, err = severalPaths.With(session, []string{a, filepath.Dir(b) + "/*.txt"}).Collect(ctx)
		require.ErrorContains(t, err, filepath.Dir(b)+"/*.txt: no file or directory matches the pattern")
	})
}
