package uitest

import (
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

// Profile returns an encoded CPU profile of two executors of Nightly.
func Profile() ([]byte, error) {
	const run = "runtime.goexit executorbackend.(*Engine).run dataset.runTask dataset.(*stageTask).run "
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000,
	}
	p.Comments = []string{"executor 1", "executor 2"}
	locations := map[string]*profile.Location{}
	for _, stack := range []struct {
		functions string // separated by spaces, callers first
		millis    int64
	}{
		{run + "main.readLinks compress/gzip.(*Reader).Read compress/flate.(*decompressor).huffmanBlock", 5200},
		{run + "main.readLinks compress/gzip.(*Reader).Read hash/crc32.update", 700},
		{run + "main.readLinks main.parseLink net/url.Parse strings.IndexByte", 1900},
		{run + "main.readLinks main.parseLink net/url.Parse runtime.mallocgc", 1100},
		{run + "main.readLinks main.parseLink", 600},
		{run + "main.countLinks runtime.mapassign_faststr", 1500},
		{run + "shuffle.(*Writer).Add record.(*Codec).Append", 900},
		{run + "shuffle.(*Writer).flush zstd.(*Encoder).EncodeAll", 2100},
		{run + "storage.(*Reader).Read syscall.Read", 800},
		{"runtime.gcBgMarkWorker runtime.gcDrain runtime.scanobject", 1600},
	} {
		for executor, part := range map[string]int64{"1": 3, "2": 2} {
			s := &profile.Sample{Value: []int64{stack.millis * part / 50, stack.millis * part * 200_000}, Label: map[string][]string{"executor": {executor}}}
			for _, name := range slices.Backward(strings.Fields(stack.functions)) {
				if locations[name] == nil {
					f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, Filename: "/src/nightly/links.go"}
					locations[name] = &profile.Location{ID: f.ID, Address: f.ID, Line: []profile.Line{{Function: f, Line: 58}}}
					p.Function, p.Location = append(p.Function, f), append(p.Location, locations[name])
				}
				s.Location = append(s.Location, locations[name])
			}
			p.Sample = append(p.Sample, s)
		}
	}
	return profiling.Encode(p)
}
