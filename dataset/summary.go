package dataset

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin"
)

// measurements count the work of one task, or of all tasks of a stage together.
type measurements struct {
	_            struct{} `cbor:",toarray"`
	RecordsIn    int64    // read from files and shuffles
	RecordsOut   int64    // written to a shuffle or files, or returned to the driver
	BytesRead    int64    // of files, before decompression
	BytesWritten int64    // of files
	LocalBytes   int64    // of shuffles, read on the task's host; an estimate
	RemoteBytes  int64    // of shuffles, fetched from other hosts; an estimate
	ShuffleBytes int64    // written to a shuffle
	SpilledBytes int64    // written to disk because memory was full
}

func (m *measurements) add(other *measurements) {
	m.RecordsIn += other.RecordsIn
	m.RecordsOut += other.RecordsOut
	m.BytesRead += other.BytesRead
	m.BytesWritten += other.BytesWritten
	m.LocalBytes += other.LocalBytes
	m.RemoteBytes += other.RemoteBytes
	m.ShuffleBytes += other.ShuffleBytes
	m.SpilledBytes += other.SpilledBytes
}

// StageSummary describes an attempt of a stage that has ended. Bytes are counted as they
// are stored, so bytes of shuffles are compressed bytes. Failed tasks are not included.
type StageSummary struct {
	Name     string // of the task set
	Tasks    int    // number of tasks that succeeded
	Took     time.Duration
	TaskTime time.Duration // sum of the run times of all these tasks
	// Skew is the run time of the longest task divided by that of the median task. A large
	// skew often means that one partition has much more data than the others.
	Skew float64

	RecordsIn, RecordsOut   int64 // records read and written; records returned to the driver count as written
	BytesRead, BytesWritten int64 // of files
	// ShuffleLocal estimates how many bytes of shuffles tasks read on their own hosts, and
	// ShuffleRemote how many they fetched from other hosts.
	ShuffleLocal, ShuffleRemote int64
	ShuffleWritten              int64
	Spilled                     int64 // bytes written to disk because memory was full
	// Division explains how the work was divided among tasks: how many tasks the measured
	// bytes of shuffles need, how many ranges were made from sampled keys, and which
	// partitions were skewed. It also names inputs that needed no shuffle. It is "" if the
	// stage reads neither shuffles nor such inputs.
	Division string
}

// String returns the summary in one line.
func (s StageSummary) String() string {
	text := fmt.Sprintf("%s: %d tasks in %v, skew %.1f; in %d records, %s read, %s + %s shuffled (local + remote); out %d records, %s written, %s shuffled; %s spilled",
		s.Name, s.Tasks, s.Took.Round(time.Millisecond), s.Skew, s.RecordsIn, size(s.BytesRead), size(s.ShuffleLocal), size(s.ShuffleRemote),
		s.RecordsOut, size(s.BytesWritten), size(s.ShuffleWritten), size(s.Spilled))
	if s.Division != "" {
		text += "; division: " + s.Division
	}
	return text
}

func size(bytes int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	value, unit := float64(bytes), 0
	for value >= 999.5 && unit < len(units)-1 {
		value /= 1000
		unit++
	}
	if unit == 0 || value >= 99.5 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// maxSummaries is the largest number of summaries that an engine retains.
const maxSummaries = 1000

// Summary returns the summaries of the attempts of stages that have ended in a session, in
// the order in which they ended. Only the last 1,000 are retained.
func Summary(session *bobbin.Session) []StageSummary {
	e := engines.get(session)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.summaries)
}

// summarize adds the summary of an attempt that has ended, and logs it. It records the cached
// data sets that the attempt has computed. Further calls do nothing.
func (a *stageAttempt) summarize() {
	if len(a.times) == 0 {
		return
	}
	slices.Sort(a.times)
	m := &a.measured
	summary := StageSummary{
		Name: a.state.name(), Tasks: len(a.times), Took: time.Since(a.began),
		RecordsIn: m.RecordsIn, RecordsOut: m.RecordsOut, BytesRead: m.BytesRead, BytesWritten: m.BytesWritten,
		ShuffleLocal: m.LocalBytes, ShuffleRemote: m.RemoteBytes, ShuffleWritten: m.ShuffleBytes, Spilled: m.SpilledBytes, Division: a.state.division,
	}
	for _, took := range a.times {
		summary.TaskTime += took
	}
	summary.Skew = float64(a.times[len(a.times)-1]) / float64(max(a.times[len(a.times)/2], 1))
	a.engine.app.Logger.Info("stage ended", "summary", summary.String())
	a.times = nil
	e := a.engine
	e.recordCaches(a.state.final)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.summaries = append(e.summaries, summary); len(e.summaries) > maxSummaries {
		e.summaries = slices.Delete(e.summaries, 0, len(e.summaries)-maxSummaries)
	}
}
