// Package profiling takes profiles of this process, in the format of go tool pprof, and
// merges the profiles of several processes.
package profiling

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// Types of profiles.
const (
	CPU       = "cpu"       // where CPU time was spent while the profile was taken
	Heap      = "heap"      // which code allocated the memory that is in use now
	Goroutine = "goroutine" // the stacks of all goroutines now
	Mutex     = "mutex"     // which mutexes were contended while the profile was taken
	Block     = "block"     // where goroutines were blocked on channels and locks while the profile was taken
)

var types = []string{CPU, Heap, Goroutine, Mutex, Block}

// MaxDuration is the longest duration of a profile.
const MaxDuration = 30 * time.Second

const (
	// mutexFraction makes the runtime sample about one in mutexFraction contentions of a mutex.
	mutexFraction = 10
	// blockRate makes the runtime sample on average one blocking event per blockRate
	// nanoseconds spent blocked.
	blockRate = 10_000
)

// Check returns an error if the type is unknown or the duration is too long.
func Check(kind string, duration time.Duration) error {
	switch {
	case !slices.Contains(types, kind):
		return fmt.Errorf("%q is no type of profile: want one of %s", kind, strings.Join(types, ", "))
	case duration < time.Second || duration > MaxDuration:
		return fmt.Errorf("a profile over %v: want 1s to %v", duration, MaxDuration)
	}
	return nil
}

// HasDuration reports whether a profile of this type covers a duration instead of one moment.
func HasDuration(kind string) bool { return kind == CPU || kind == Mutex || kind == Block }

// Take takes a profile of this process. duration is ignored for the types Heap and Goroutine,
// which describe one moment. If ctx ends before duration has passed, the profile covers the
// time until then. Take fails if the type is CPU and another CPU profile of this process is
// being taken.
func Take(ctx context.Context, kind string, duration time.Duration) (*profile.Profile, error) {
	switch kind {
	case CPU:
		var taken bytes.Buffer
		if err := pprof.StartCPUProfile(&taken); err != nil {
			return nil, err
		}
		sleep(ctx, duration)
		pprof.StopCPUProfile()
		return profile.Parse(&taken)
	case Mutex:
		before := runtime.SetMutexProfileFraction(mutexFraction)
		defer runtime.SetMutexProfileFraction(before)
		return change(ctx, kind, duration)
	case Block:
		runtime.SetBlockProfileRate(blockRate)
		defer runtime.SetBlockProfileRate(0)
		return change(ctx, kind, duration)
	default:
		return lookup(kind)
	}
}

func sleep(ctx context.Context, duration time.Duration) {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// change returns the samples that are added to a cumulative profile during the given duration.
func change(ctx context.Context, kind string, duration time.Duration) (*profile.Profile, error) {
	before, err := lookup(kind)
	if err != nil {
		return nil, err
	}
	sleep(ctx, duration)
	after, err := lookup(kind)
	if err != nil {
		return nil, err
	}
	before.Scale(-1)
	added, err := profile.Merge([]*profile.Profile{before, after})
	if err != nil {
		return nil, err
	}
	added.TimeNanos, added.DurationNanos = before.TimeNanos, duration.Nanoseconds()
	return added, nil
}

func lookup(kind string) (*profile.Profile, error) {
	found := pprof.Lookup(kind)
	if found == nil {
		return nil, fmt.Errorf("%q is no type of profile: want one of %s", kind, strings.Join(types, ", "))
	}
	var taken bytes.Buffer
	if err := found.WriteTo(&taken, 0); err != nil {
		return nil, err
	}
	return profile.Parse(&taken)
}

// Label adds a label to all samples of a profile.
func Label(p *profile.Profile, key, value string) {
	for _, sample := range p.Sample {
		if sample.Label == nil {
			sample.Label = map[string][]string{}
		}
		sample.Label[key] = []string{value}
	}
}

// Encode returns a profile in the compressed format of profile files.
func Encode(p *profile.Profile) ([]byte, error) {
	var encoded bytes.Buffer
	if err := p.Write(&encoded); err != nil {
		return nil, err
	}
	return encoded.Bytes(), nil
}

// Merge merges one or more encoded profiles of the same type into their sum. The result has the
// given comments.
func Merge(encoded [][]byte, comments []string) ([]byte, error) {
	var all []*profile.Profile
	for _, one := range encoded {
		p, err := profile.ParseData(one)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, err
	}
	merged.Comments = comments
	return Encode(merged)
}

// Comments returns the comments of an encoded profile.
func Comments(encoded []byte) ([]string, error) {
	p, err := profile.ParseData(encoded)
	if err != nil {
		return nil, err
	}
	return p.Comments, nil
}
