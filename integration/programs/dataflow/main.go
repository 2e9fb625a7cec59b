// Command dataflow runs a job on data sets of generated records. Its tasks can be made to wait
// at named points, which are called moments, so that tests can inject faults there.
//
//	dataflow [flags] counts|groups|parts|cogroups|joined|records|sorted|runs OUT
//
// counts, groups, parts and cogroups write a line for each key, and joined, records and sorted write a
// line for each record. runs is not deterministic: its output shows if a task has received records of
// two runs of a map task. With -check, counts, groups, parts, cogroups and joined write one line with
// the number of records, and sorted writes one line for each range.
//
// Each task reports its moments by files in the directory -control, and waits at moments that
// are held (see moment). The driver writes the state of its task sets to the file "status" in
// this directory, and at its end the job's counters to the file "counters". It prints how long
// the job took. With -stream, the driver receives the lines, and writes their number to the
// file OUT.
//
// Connections are plain TCP, not multipath TCP, so that tests can attach socket filters.
//
//go:debug multipathtcp=0
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// input describes the generated records. Each of Partitions partitions has Records records.
// Their keys are chosen at random from Keys keys.
type input struct {
	Partitions, Records, Keys int
	Payload                   int           // size of each value in bytes
	Padding                   int           // number of bytes that are appended to each key
	Hot                       float64       // fraction (0 to 1) of the records that have the first key
	Right                     bool          // for joined: the records are the right side of the join
	Check                     bool          // write lines about the records instead of the records
	Unstable                  bool          // each run of a map task generates different values
	Delay                     time.Duration // how long groups, parts, cogroups and joined wait for each record
	Control                   string
}

func main() {
	bobbin.Main(func(ctx context.Context) error {
		flags := flag.NewFlagSet("dataflow", flag.ContinueOnError)
		var in input
		flags.IntVar(&in.Partitions, "partitions", 12, "partitions of the input")
		flags.IntVar(&in.Records, "records", 20_000, "records of each partition")
		flags.IntVar(&in.Keys, "keys", 50_000, "keys")
		flags.IntVar(&in.Payload, "payload", 64, "bytes of each value")
		flags.IntVar(&in.Padding, "padding", 0, "bytes that are appended to each key")
		flags.Float64Var(&in.Hot, "hot", 0, "part of the records with the first key")
		flags.BoolVar(&in.Right, "right", false, "join with the records on the right side")
		flags.BoolVar(&in.Check, "check", false, "write lines about the records instead of the records")
		flags.BoolVar(&in.Unstable, "unstable", false, "generate other values in each run of a task")
		flags.StringVar(&in.Control, "control", "", "directory of moments")
		flags.DurationVar(&in.Delay, "delay", 0, "waiting time for each record of a result task")
		overwrite := flags.Bool("overwrite", false, "replace OUT if it exists")
		streams := flags.Bool("stream", false, "stream the lines to the driver")
		if err := flags.Parse(os.Args[1:]); err != nil {
			return err
		}
		if flags.NArg() != 2 {
			return errors.New("usage: dataflow [flags] JOB OUT")
		}
		out := flags.Arg(1)
		action := func(ctx context.Context, result *lines) error {
			if *streams {
				return stream(ctx, &in, result, out)
			}
			var options []dataset.SaveOption
			if *overwrite {
				options = append(options, dataset.Overwrite())
			}
			return result.Save(ctx, out, dataset.AsText, options...)
		}
		return run(ctx, in, flags.Arg(0), action)
	})
}

// stream receives the lines in the driver and writes their number to a file. It reports the
// moment "streaming" when it has the first line.
func stream(ctx context.Context, in *input, result *lines, out string) error {
	count := 0
	for _, err := range result.Stream(ctx) {
		if err != nil {
			return err
		}
		if count++; count == 1 {
			in.moment(ctx, "streaming", 0)
		}
	}
	return os.WriteFile(out, line(count), 0o644)
}

// run computes a job's result by an action.
func run(ctx context.Context, in input, job string, action func(ctx context.Context, result *lines) error) error {
	plan := jobs[job]
	if plan == nil {
		return fmt.Errorf("there is no job %q", job)
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	if in.Control != "" {
		ended := make(chan struct{})
		var watching sync.WaitGroup
		defer watching.Wait()
		defer close(ended)
		watching.Go(func() { watch(session, in.Control, ended) })
	}
	began := time.Now()
	if err := action(ctx, plan.With(session, in)); err != nil || in.Control == "" {
		return err
	}
	fmt.Println(time.Since(began))
	counters, err := json.Marshal(map[string]int64{"generated": session.Counter(generated), "seen": session.Counter(seen)})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(in.Control, "counters"), counters, 0o644)
}

// watch writes the state of the task sets to the file "status" every 20 ms, until ended is
// closed, and then once more.
func watch(session *bobbin.Session, control string, ended <-chan struct{}) {
	for more := true; more; {
		select {
		case <-ended:
			more = false
		case <-time.After(20 * time.Millisecond):
		}
		status, err := json.Marshal(session.Jobs())
		if err != nil {
			panic(err)
		}
		draft := filepath.Join(control, "status-draft")
		if os.WriteFile(draft, status, 0o644) == nil {
			_ = os.Rename(draft, filepath.Join(control, "status"))
		}
	}
}

// moment reports that the task with the given index has reached a moment: it creates a file
// MOMENT.INDEX.PID.NONCE in the control directory. It then waits as long as a file hold.MOMENT
// or hold.MOMENT.INDEX exists, or until ctx ends.
func (in *input) moment(ctx context.Context, moment string, index int) {
	if in.Control == "" {
		return
	}
	name := fmt.Sprintf("%s.%d", moment, index)
	file, err := os.CreateTemp(in.Control, fmt.Sprintf("%s.%d.*", name, os.Getpid()))
	if err != nil {
		panic(err)
	}
	_ = file.Close()
	for ctx.Err() == nil && (in.isHeld(moment) || in.isHeld(name)) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (in *input) isHeld(moment string) bool {
	_, err := os.Lstat(filepath.Join(in.Control, "hold."+moment))
	return err == nil
}

// line returns the fields separated by tabs.
func line(fields ...any) []byte {
	var b strings.Builder
	for i, field := range fields {
		if i > 0 {
			b.WriteByte('\t')
		}
		fmt.Fprint(&b, field)
	}
	return []byte(b.String())
}
