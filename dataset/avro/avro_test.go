package avro_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/avro"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// run runs a driver function on a local master.
func run(t *testing.T, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		f(ctx, session)
		return nil
	}))
}

type place struct {
	City string
	Zip  [5]byte
}

type common struct {
	ID int64 `avro:"id"`
}

// order has a field of each Go type that can be written to Avro files.
type order struct {
	common
	Note    *string           `avro:"note"`
	Weight  float32           `avro:"weight"`
	Price   float64           `avro:"price"`
	Paid    bool              `avro:"paid"`
	Count   int32             `avro:"count,default=1"`
	Total   string            `avro:"total,decimal(20,2)"`
	At      time.Time         `avro:"at"`
	Day     time.Time         `avro:"day,date"`
	Took    time.Duration     `avro:"took"`
	Data    []byte            `avro:"data"`
	Tags    []string          `avro:"tags"`
	Amounts map[string]int64  `avro:"amounts"`
	From    place             `avro:"from"`
	To      *place            `avro:"to"`
	Legs    []place           `avro:"legs"`
	Places  map[string]*place `avro:"places"`
	Cached  int               `avro:"-"`
}

func orderOf(i int64) order {
	from := place{City: fmt.Sprint("city ", i), Zip: [5]byte{'1', byte(i)}}
	o := order{
		common: common{ID: i}, Weight: float32(i) / 2, Price: float64(i) * 1.5, Paid: i%2 == 0, Count: int32(i),
		Total: fmt.Sprintf("%d.25", i), At: time.UnixMicro(1_700_000_000_000_000 + i).UTC(),
		Day: time.Date(2026, 11, 1+int(i%28), 0, 0, 0, 0, time.UTC), Took: time.Duration(i) * time.Microsecond,
		Data: []byte{1, byte(i)}, Tags: []string{"a", fmt.Sprint(i)}, Amounts: map[string]int64{"x": i}, From: from,
		Legs: []place{from, {City: "second"}}, Places: map[string]*place{"none": nil, "home": &from},
	}
	if i%3 == 0 {
		o.Note, o.To = &from.City, &from
	}
	return o
}

var (
	orders = dataset.Define("orders", func(p *dataset.Plan, n int64) *dataset.Of[order] {
		return dataset.Map(dataset.Range(p, 0, n, 2), orderOf)
	})
	readOrders = dataset.Define("read orders", func(p *dataset.Plan, path string) *dataset.Of[order] {
		return avro.Read[order](p, path, dataset.SplitSize(40_000))
	})
)

func TestEachTypeSurvivesWritingAndReading(t *testing.T) {
	const n = 2000
	var want []order
	for i := range int64(n) {
		want = append(want, orderOf(i))
	}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, compression := range []string{"", "deflate", "snappy", "zstd", "bzip2"} {
			out := filepath.Join(t.TempDir(), "out"+compression)
			require.NoError(t, orders.With(session, n).Save(ctx, out, avro.Format, dataset.Compress(compression)), compression)
			require.FileExists(t, filepath.Join(out, "part-00000.avro"))
			got, err := readOrders.With(session, out).Collect(ctx)
			require.NoError(t, err)
			require.Len(t, got, len(want))
			slices.SortFunc(got, func(a, b order) int { return int(a.ID - b.ID) })
			for i := range want {
				require.Equal(t, want[i], got[i], "%s", compression)
			}
		}
	})
}

var (
	countWords = dataset.Define("count words", func(p *dataset.Plan, words []string) *dataset.Of[dataset.KV[string, int64]] {
		return dataset.Count(dataset.Slice(p, words, 2))
	})
	readKV = dataset.Define("read pairs", func(p *dataset.Plan, path string) *dataset.Of[dataset.KV[string, int64]] {
		return avro.Read[dataset.KV[string, int64]](p, path)
	})
	readMoods = dataset.Define("read moods", func(p *dataset.Plan, path string) *dataset.Of[mood] { return avro.Read[mood](p, path) })
	moods     = dataset.Define("moods", func(p *dataset.Plan, names []string) *dataset.Of[mood] {
		return dataset.Map(dataset.Slice(p, names, 1), func(name string) mood { return mood{name, name == "SAD"} })
	})
	numbers = dataset.Define("numbers", func(p *dataset.Plan, n int64) *dataset.Of[int64] { return dataset.Range(p, 0, n, 1) })
)

type mood struct {
	Name string
	Sad  bool
}

func TestKVIsARecord(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, countWords.With(session, []string{"a", "b", "a"}).Save(ctx, out, avro.Format))
		got, err := readKV.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.ElementsMatch(t, []dataset.KV[string, int64]{{Key: "a", Value: 2}, {Key: "b", Value: 1}}, got)
	})
}

func TestSaveWithASchema(t *testing.T) {
	const schema = `{"type":"record","name":"Mood","namespace":"org.example","fields":[
		{"name":"Name","type":{"type":"enum","name":"Moods","symbols":["HAPPY","SAD"]}},
		{"name":"Sad","type":"boolean"}
]}`
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, moods.With(session, []string{"SAD", "HAPPY"}).Save(ctx, out, avro.Format, avro.Schema(schema)))
		got, err := readMoods.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []mood{{"SAD", true}, {"HAPPY", false}}, got)

		err = moods.With(session, []string{"ANGRY"}).Save(ctx, out+"2", avro.Format, avro.Schema(schema))
		require.ErrorContains(t, err, "ANGRY")
	})
}

func TestSaveReportsErrorsBeforeTheJobRuns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for message, save := range map[string]func() error{
			"int64 are not records of Avro: map them to a struct first": func() error { return numbers.With(session, 1).Save(ctx, out, avro.Format) },
			`the compression "gzip" is none that Avro files are written with: bzip2, deflate, snappy and zstd`: func() error {
				return moods.With(session, nil).Save(ctx, out, avro.Format, dataset.Compress("gzip"))
			},
			`the option "x" is none of Avro files`: func() error {
				return moods.With(session, nil).Save(ctx, out, avro.Format, dataset.FormatOption("x", ""))
			},
			"the schema of avro.Schema": func() error {
				return moods.With(session, nil).Save(ctx, out, avro.Format, avro.Schema("{"))
			},
			"must be a record": func() error {
				return moods.With(session, nil).Save(ctx, out, avro.Format, avro.Schema(`"string"`))
			},
		} {
			require.ErrorContains(t, save(), message)
		}
	})
}

// A damaged file fails the job with its path and the place of the damage.
func TestDamagedFiles(t *testing.T) {
	directory := t.TempDir()
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, orders.With(session, 3000).Save(ctx, filepath.Join(directory, "out"), avro.Format, dataset.Compress("deflate")))
		content, err := os.ReadFile(filepath.Join(directory, "out", "part-00001.avro"))
		require.NoError(t, err)
		for message, damage := range map[string]func(data []byte) []byte{
			"the header of the Avro file: it begins with the bytes \"PAR1\"": func(data []byte) []byte { return append([]byte("PAR1"), data[4:]...) },
			"the header of the Avro file: unexpected EOF":                    func(data []byte) []byte { return data[:100] },
			"unexpected EOF":         func(data []byte) []byte { return data[:len(data)-3] },
			"no sync marker follows": func(data []byte) []byte { data[len(data)-1]++; return data },
			`the codec "invalid" is not supported`: func(data []byte) []byte {
				return []byte(strings.Replace(string(data), "\x0edeflate", "\x0einvalid", 1))
			},
			"flate: ": func(data []byte) []byte { copy(data[1098:], bytes.Repeat([]byte{255}, 100)); return data },
			"the header of the Avro file: its schema": func(data []byte) []byte { return []byte(strings.Replace(string(data), `"record"`, `"rekord"`, 1)) },
		} {
			path := filepath.Join(directory, "damaged.avro")
			require.NoError(t, os.WriteFile(path, damage(slices.Clone(content)), 0o600))
			_, err := readOrders.With(session, path).Collect(ctx)
			require.ErrorContains(t, err, "damaged.avro: ")
			assert.ErrorContains(t, err, message)
			assert.ErrorContains(t, err, "avro.Read at avro_test.go:")
		}
	})
}

func TestFilesAsJSON(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, moods.With(session, []string{"x", "SAD"}).Save(ctx, out, avro.Format))
	})
	file, err := os.Open(filepath.Join(out, "part-00000.avro"))
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	var lines []string
	for line, err := range avro.JSON(file, info.Size(), 1<<20) {
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	require.Equal(t, []string{`{"Name":"x","Sad":false}`, `{"Name":"SAD","Sad":true}`}, lines)
}

// visit is a row of a table that has a directory for each day.
type visit struct {
	ID  int64     `avro:"id"`
	Day time.Time `partition:"day"`
}

var (
	visits = dataset.Define("visits", func(p *dataset.Plan, days int) *dataset.Of[visit] {
		return dataset.Map(dataset.Range(p, 0, 100, 2), func(i int64) visit {
			return visit{i, time.Date(2024, 1, 1+int(i)%days, 0, 0, 0, 0, time.UTC)}
		})
	})
	readVisits = dataset.Define("read visits", func(p *dataset.Plan, path string) *dataset.Of[visit] {
		return dataset.SortBy(avro.Read[visit](p, path), func(v visit) int64 { return v.ID })
	})
)

func TestPartitionDirectoriesAreColumns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		want, err := visits.With(session, 20).Collect(ctx)
		require.NoError(t, err)
		require.NoError(t, visits.With(session, 20).Save(ctx, out, avro.Format, dataset.PartitionBy("day")))
		got, err := readVisits.With(session, out).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
	days, err := filepath.Glob(filepath.Join(out, "day=2024-01-*", "part-00000.avro"))
	require.NoError(t, err)
	require.Len(t, days, 20)
}
