package page

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
)

// NewSnapshot returns what the parts of an application's status say, for the pages of an
// ApplicationMaster whose driver runs elsewhere: its pages show no single tasks. started is
// the first event of the application.
func NewSnapshot(started events.ApplicationStarted, d driver.Status, allocated allocator.Status) *events.Snapshot {
	totals := d.Totals
	s := &events.Snapshot{
		Latest:      time.Now(),
		Application: events.Application{ApplicationStarted: started, State: events.Running},
		Totals: events.Totals{
			Counts: events.Counts{Tasks: totals.Done + totals.Running + totals.Waiting, Done: totals.Done, Running: totals.Running, FailedAttempts: totals.FailedAttempts},
			Jobs:   totals.Jobs, Cores: totals.Cores, CoresBusy: min(totals.Running, totals.Cores), Wanted: allocated.Counts.Requested, Registered: totals.Executors, Lost: totals.ExecutorsLost,
		},
		Notes: append(append([]string{}, allocated.Notes...), d.Notes...),
	}
	for _, p := range d.Profiles {
		s.Profiles = append(s.Profiles, &events.Profile{Wanted: p.Wanted, ProfileAdded: events.ProfileAdded{
			Profile: p.ID, MemoryBytes: p.MemoryBytes, OverheadBytes: p.OverheadBytes, Cores: p.Cores, Resources: p.Resources,
		}})
	}
	for _, e := range d.Executors {
		s.Executors = append(s.Executors, snapshotOfExecutor(e))
	}
	for _, j := range d.Jobs {
		if j.State == driver.JobRunning {
			s.Totals.JobsRunning++
		}
		s.Jobs = append(s.Jobs, snapshotOfJob(j))
	}
	for _, x := range allocated.Exclusions {
		excluded := events.Excluded{Host: x.Host}
		if x.Until != nil {
			excluded.Until = *x.Until
		}
		s.Exclusions = append(s.Exclusions, excluded)
	}
	return s
}

func snapshotOfExecutor(e driver.ExecutorStatus) *events.Executor {
	snapshot := &events.Executor{
		ID: e.ID, Host: e.Host, Profile: e.Profile, Cores: e.Cores, LogURLs: e.LogURLs, Registered: e.Registered,
		State: e.State, Reason: cmp.Or(e.LossText, e.Decommission), Expected: e.Decommission != "",
		Counts: events.Counts{Done: e.Done, Running: e.Running, FailedAttempts: e.Failed},
	}
	if e.ResidentBytes > 0 {
		snapshot.Memory = []events.MemorySample{{Time: events.MicrosOf(e.LastHeard), Resident: int64(e.ResidentBytes)}}
	}
	if e.Lost != nil {
		snapshot.Lost = *e.Lost
	}
	return snapshot
}

func snapshotOfJob(j driver.JobStatus) *events.Job {
	counts := events.Counts{Tasks: j.Total, Done: j.Done, Running: j.Running, FailedAttempts: j.FailedAttempts, Copies: j.Copies}
	counts.Sums = events.Sums{
		Run: events.Micros(j.Metrics.RunNanos / 1000), BytesRead: int64(j.Metrics.BytesRead), BytesWritten: int64(j.Metrics.BytesWritten),
		Localities: [5]int{j.Locality.ProcessLocal, j.Locality.NodeLocal, j.Locality.NoPref, j.Locality.RackLocal, j.Locality.Any},
	}
	var ended time.Time
	if j.Ended != nil {
		ended = *j.Ended
	}
	gauges := map[string]int64{}
	for name, gauge := range j.Gauges {
		gauges[name] = gauge.Peak
	}
	set := &events.TaskSet{
		TaskSetSubmitted: events.TaskSetSubmitted{Time: events.At(j.Submitted), Set: j.ID, Job: j.ID, Name: j.Name, Tasks: j.Total, Pool: j.Pool, Profile: j.Profile, Barrier: j.Barrier},
		State:            j.State, Ended: ended, Error: j.Error, Waits: j.Waits, Counts: counts, Counters: j.Counters, Gauges: gauges,
	}
	return &events.Job{
		JobSubmitted: events.JobSubmitted{Time: events.At(j.Submitted), Job: j.ID, Name: j.Name, Description: j.Description, Group: j.Group, Pool: j.Pool},
		State:        j.State, Ended: ended, Error: j.Error, Sets: []*events.TaskSet{set}, Counts: counts,
	}
}

// Settings returns the settings that are not at their defaults, without secrets, sorted by
// key.
func Settings(c *config.Config) []events.Setting {
	set := c.Map()
	var settings []events.Setting
	for _, key := range slices.Sorted(maps.Keys(set)) {
		settings = append(settings, events.Setting{Key: key, Value: c.Redact(key, set[key]), Source: c.Source(key)})
	}
	return settings
}
