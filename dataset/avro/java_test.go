package avro_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/dataset/avro"
)

// testdata/WriteAvro.java has written the files in testdata with Avro for Java.

type stop struct {
	City string  `avro:"city"`
	Zip  *string `avro:"zip"`
}

// trip has the fields of the files in another order. Some fields have other types than in
// the files: Avro's rules or the decoder convert int to int64 and float64, and enums to
// strings.
type trip struct {
	UUID      string           `avro:"uuid,uuid"`
	ID        int64            `avro:"id"`
	Far       float64          `avro:"far"`
	Ratio     float64          `avro:"ratio"`
	Exact     float64          `avro:"exact"`
	Done      bool             `avro:"done"`
	Title     string           `avro:"title,alias=name"`
	Data      []byte           `avro:"data"`
	Mood      string           `avro:"mood"`
	Before    int32            `avro:"moodBefore"`
	Key       [4]byte          `avro:"key"`
	Maybe     *string          `avro:"maybe"`
	MaybeLast *int64           `avro:"maybeLast"`
	List      []*int32         `avro:"list"`
	Counts    map[string]int64 `avro:"counts"`
	Home      stop             `avro:"home"`
	Places    []stop           `avro:"places"`
	Next      *trip            `avro:"next"`
	Day       time.Time        `avro:"day"`
	Millis    time.Time        `avro:"millis"`
	Micros    *time.Time       `avro:"micros"`
	Local     time.Time        `avro:"local"`
	Took      time.Duration    `avro:"took"`
	Price     string           `avro:"price,decimal(3,1)"`
	Cost      string           `avro:"cost,decimal(3,1)"`
	New       *trip            `avro:"new"`
	NewCount  int32            `avro:"newCount,default=7"`
	NewName   string           `avro:"newName,default=a,b"`
}

func tripOf(i int64, next bool) trip {
	text := func(s string) *string { return &s }
	first, second := int32(i), int32(i+1)
	t := trip{
		UUID: fmt.Sprint("123e4567-e89b-12d3-a456-42661417400", i%10), ID: i, Far: float64(1<<40 | i), Ratio: float64(i) / 4,
		Exact: float64(i) / 3, Done: i%2 == 1, Title: fmt.Sprint("trip ä ", i), Data: []byte{0, byte(i)},
		Mood: []string{"HAPPY", "SAD"}[i%2], Before: 1, Key: [4]byte{1, 2, 3, byte(i)},
		List: []*int32{&first, nil, &second}, Counts: map[string]int64{"a": i, "b": -1}, Home: stop{City: "Berlin"},
		Places: []stop{{"Paris", text("75001")}, {City: "Rome"}}, Day: time.Unix(24*60*60*(20_000+i), 0).UTC(),
		Millis: time.UnixMilli(1_700_000_000_123 + i).UTC(), Local: time.UnixMicro(1_700_000_000_123_456 + i).UTC(),
		Took:  time.Duration(3_723_004+i) * time.Millisecond,
		Price: big.NewRat(-1250-i, 100).FloatString(2), Cost: "12345678901234567.125", NewCount: 7, NewName: "a,b",
	}
	if i%3 != 0 {
		t.Maybe, t.MaybeLast, t.Micros = text(fmt.Sprint("maybe ", i)), &i, &t.Local
	}
	if next {
		after := tripOf(i+100, false)
		t.Next = &after
	}
	return t
}

// readTrips reads files in splits so small that a split has none, one or two blocks.
var readTrips = dataset.Define("read trips", func(p *dataset.Plan, path string) *dataset.Of[trip] {
	return avro.Read[trip](p, path, dataset.SplitSize(300))
})

// tripNumbers has plain numbers for fields of the files that have logical types.
type tripNumbers struct {
	Day    int32   `avro:"day"`
	Millis int64   `avro:"millis"`
	Price  float64 `avro:"price"`
	Cost   []byte  `avro:"cost"`
}

var readNumbers = dataset.Define("read numbers", func(p *dataset.Plan, path string) *dataset.Of[tripNumbers] {
	return avro.Read[tripNumbers](p, path)
})

func TestReadsFilesOfAvroForJava(t *testing.T) {
	var want []trip
	for i := range int64(8) {
		want = append(want, tripOf(i, i%2 == 0))
	}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, codec := range []string{"null", "deflate", "snappy", "zstandard", "bzip2"} {
			got, err := readTrips.With(session, filepath.Join("testdata", codec+".avro")).Collect(ctx)
			require.NoError(t, err, codec)
			require.Equal(t, want, got, codec)
		}
		// Fields of logical types can be read into plain types.
		got, err := readNumbers.With(session, filepath.Join("testdata", "null.avro")).Take(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, []tripNumbers{
			{Day: 20_000, Millis: 1_700_000_000_123, Price: -12.5, Cost: []byte{0, 0xab, 0x54, 0xa9, 0x8c, 0xeb, 0x1f, 0x07, 0xd5}},
		}, got[:1])
		_, err = readTrips.With(session, filepath.Join("testdata", "xz.avro")).Collect(ctx)
		require.ErrorContains(t, err, `the codec "xz" is not supported: write the file with deflate`)
	})
}

// failingRead reads a file into a type for which reading must fail.
type failingRead struct {
	message string // that the error must contain
	collect func(ctx context.Context, session *bobbin.Session, path string) error
}

// readAs returns a failingRead that reads a file into T. Call it in the initializer of a
// package variable, because it defines a data set.
func readAs[T any](name, message string) failingRead {
	definition := dataset.Define(name, func(p *dataset.Plan, path string) *dataset.Of[T] { return avro.Read[T](p, path) })
	return failingRead{message, func(ctx context.Context, session *bobbin.Session, path string) error {
		return definition.With(session, path).Run(ctx)
	}}
}

type (
	absent   struct{ Absent int }
	narrowed struct {
		Far int32 `avro:"far"`
	}
	nestedMismatch struct {
		Home struct {
			City bool `avro:"city"`
		} `avro:"home"`
	}
	maybe struct {
		Maybe string `avro:"maybe"`
	}
	maybeTime struct {
		Micros time.Time `avro:"micros"`
	}
	maybeElement struct {
		List []int `avro:"list"`
	}
	maybeRecord struct {
		Next absentID `avro:"next"`
	}
	absentID struct {
		ID int32 `avro:"id"`
	}
	either struct {
		Either *string `avro:"either"`
	}
	function struct{ F func() }
	digits   struct{ F big.Rat }
	option   struct {
		F int `avro:"f,indexed"`
	}
	twice struct {
		A int `avro:"a"`
		B int `avro:"a"`
	}
	wrongDefault struct {
		F int32 `avro:"f,default=x"`
	}
	empty struct{ hidden int }
)

var failingReads = []failingRead{
	readAs[absent]("absent", `the file has no field "Absent": make the field of the struct a pointer, or give it a default`),
	readAs[narrowed]("narrowed", `field "far": the file has the type long, which cannot be read as int`),
	readAs[nestedMismatch]("within", `field "home.city": the file has the type string, which cannot be read as boolean`),
	readAs[maybe]("maybe", `field "maybe": null, or another type of the file's union, cannot be read as string: make the field a pointer`),
	readAs[maybeTime]("maybe time", `field "micros": null, or another type of the file's union, cannot be read as time.Time`),
	readAs[maybeElement]("maybe element", `field "list": null, or another type of the file's union, cannot be read as int`),
	readAs[maybeRecord]("maybe record", `field "next": null, or another type`),
	readAs[either]("either", `field either`),
	readAs[function]("function", "field F: func() has no type in Avro"),
	readAs[digits]("digits", "field F: a big.Rat needs the number of its digits"),
	readAs[option]("option", `field F: the tag has the unknown option "indexed"`),
	readAs[twice]("twice", `field B: two fields have the name "a"`),
	readAs[wrongDefault]("wrong default", `field F: the default "x" is none of the type int`),
	readAs[empty]("empty", "it has no exported fields"),
	readAs[int]("number", "elements of type int are not records of Avro"),
}

// If a file cannot be read into a type, the error names the field and suggests a remedy.
func TestReadReportsTypesThatDoNotMatchTheFile(t *testing.T) {
	_ = empty{hidden: 1}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, r := range failingReads {
			require.ErrorContains(t, r.collect(ctx, session, filepath.Join("testdata", "null.avro")), r.message)
		}
	})
}

func TestJSONOfAFileOfAvroForJava(t *testing.T) {
	file, err := os.Open(filepath.Join("testdata", "snappy.avro"))
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	var lines []string
	for line, err := range avro.JSON(file, info.Size(), 1<<20) {
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	require.Len(t, lines, 8)
	require.True(t, strings.HasPrefix(lines[1], `{"id":1,"skipped":null,"far":1099511627777,"ratio":0.25,`), lines[1])
	require.Contains(t, lines[1], `"name":"trip ä 1","data":"\u0000\u0001","mood":"SAD"`)
}
