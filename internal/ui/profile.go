package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

const (
	// profileTime is the length of the period that a profile covers. Profiles of the current
	// state, such as of the heap, ignore it.
	profileTime = 5 * time.Second
	// maxProfiles is the maximum number of profiles that are stored for download.
	maxProfiles = 5
	// maxCosts is the maximum number of functions in the table of a profile.
	maxCosts = 30
)

// profiles stores the latest profiles that were taken for users of the pages.
type profiles struct {
	taking sync.Mutex // locked while a profile is taken, so that only one is taken at a time

	mu   sync.Mutex
	last int                 // number of the latest profile
	kept map[int]keptProfile // by the number of the profile
}

// keptProfile is a stored profile, which can be downloaded.
type keptProfile struct {
	name    string // name of the downloaded file
	content []byte
}

// keep stores a profile and returns its number. If maxProfiles profiles are stored already, it
// removes the oldest.
func (p *profiles) keep(name string, content []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[int]keptProfile{}
	}
	p.last++
	p.kept[p.last] = keptProfile{name: name, content: content}
	delete(p.kept, p.last-maxProfiles)
	return p.last
}

func (p *profiles) get(number string) (keptProfile, bool) {
	n, err := strconv.Atoi(number)
	p.mu.Lock()
	defer p.mu.Unlock()
	kept, ok := p.kept[n]
	return kept, ok && err == nil
}

// profileTypes are the types of profiles that users can take from the pages, with descriptions.
var profileTypes = []struct{ kind, name, hint string }{
	{profiling.CPU, "CPU", "Where CPU time is spent during 5 s"},
	{profiling.Heap, "heap", "What occupies memory now"},
	{profiling.Goroutine, "goroutines", "What all goroutines do now: a dump"},
	{profiling.Mutex, "mutexes", "Which mutexes are waited for during 5 s"},
	{profiling.Block, "blocking", "Where goroutines wait for channels and locks during 5 s"},
}

// profileFact returns a fact whose links take profiles of the target of r: a job, an executor,
// all executors or the driver. It returns nil if no profiles can be taken.
func (v view) profileFact(name string, r profiling.Request) []fact {
	if !v.profiles || !running(v.Snapshot) {
		return nil
	}
	f := fact{Name: name, Hint: "Takes a profile and shows it as a flame graph"}
	for _, t := range profileTypes {
		r.Type, r.Duration = t.kind, profileTime
		c := linked(t.name, profileURL(r))
		c.Hint = t.hint
		f.Cells = append(f.Cells, c)
	}
	return []fact{f}
}

func profileURL(r profiling.Request) string {
	values := r.Values()
	values.Set("page", profilePage)
	return query{values}.with()
}

// serveProfile takes the profile that a query specifies, and shows it. Unlike other pages, this
// page does not update itself, because each request takes a new profile.
func (p *Pages) serveProfile(w http.ResponseWriter, r *http.Request, q query) {
	v, _ := p.state()
	v.query = q
	shown, status := p.profileContent(r, v)
	rendered, err := v.layout(shown, profilePage).render(status)
	if err != nil {
		http.Error(w, "The page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, rendered.status, rendered.contentType, rendered.body)
}

func (p *Pages) profileContent(r *http.Request, v view) (content, int) {
	c := content{Title: "Profile", Path: []link{{Text: "Executors", Link: to(executorsPage)}}}
	refuse := func(status int, why string) (content, int) {
		c.Sections = []section{{ID: "refused", Notes: []note{{Level: "No profile:", Class: bad, Cells: []cell{text(why)}}}}}
		return c, status
	}
	request, err := profiling.ParseRequest(v.query.values)
	switch {
	case err != nil:
		return refuse(http.StatusBadRequest, err.Error())
	case p.options.Profile == nil || !running(v.Snapshot):
		return refuse(http.StatusNotFound, "The application does not run any more, or not here.")
	case !p.profiles.taking.TryLock():
		return refuse(http.StatusServiceUnavailable, "Another profile is being taken: try again in some seconds.")
	}
	defer p.profiles.taking.Unlock()
	encoded, err := p.options.Profile.Bounded(r.Context(), request)
	if err != nil {
		return refuse(http.StatusServiceUnavailable, err.Error())
	}
	taken, err := profile.ParseData(encoded)
	if err != nil {
		return refuse(http.StatusServiceUnavailable, "the profile cannot be read: "+err.Error())
	}
	file := cmp.Or(v.Application.ID, "application") + "." + request.Type + ".pb.gz"
	number := p.profiles.keep(file, encoded)
	c.Title = profileTitle(request)
	c.Sections = v.profileSections(taken, request, to(profilePage, "download", strconv.Itoa(number)))
	return c, http.StatusOK
}

func profileTitle(r profiling.Request) string {
	name := r.Type
	if i := slices.IndexFunc(profileTypes, func(t struct{ kind, name, hint string }) bool { return t.kind == r.Type }); i >= 0 {
		name = profileTypes[i].name
	}
	title := "Profile: " + name
	if profiling.HasDuration(r.Type) {
		title += " over " + duration(r.Duration)
	}
	switch {
	case r.Driver:
		return title + ", of the driver"
	case r.Executor != "":
		return title + ", of executor " + visible(r.Executor)
	case r.Job != 0:
		return title + ", of job " + formatID(r.Job)
	}
	return title
}

// valueFormat returns the function that formats the values of a profile, depending on their
// unit.
func valueFormat(p *profile.Profile) func(int64) string {
	unit := ""
	if n := len(p.SampleType); n > 0 {
		unit = p.SampleType[n-1].Unit
	}
	switch unit {
	case "nanoseconds":
		return func(n int64) string { return duration(time.Duration(n)) }
	case "bytes":
		return size[int64]
	}
	return count[int64]
}

func (v view) profileSections(p *profile.Profile, request profiling.Request, download string) []section {
	format := valueFormat(p)
	costs, all := costsOf(p)
	summary := section{ID: "summary", Facts: []fact{
		factOf("Of", strings.Join(p.Comments, ", ")), factOf("Sum", format(all)),
		{Name: "File", Hint: "For go tool pprof", Cells: []cell{{Text: "download for go tool pprof", Link: download}}},
	}}
	summary.Facts = append(summary.Facts, v.profileFact("Take another", profiling.Request{Executor: request.Executor, Job: request.Job, Driver: request.Driver})...)
	sections := []section{summary}
	graph := section{ID: "flame", Title: "Flame graph", Flame: flameOf(p, "Functions below their callers, as wide as their share", format)}
	if graph.Flame == nil {
		graph.Notes = []note{{Level: "Empty:", Cells: []cell{text("The profile has no samples.")}}}
	}
	sections = append(sections, graph)
	if len(costs) > 0 {
		sections = append(sections, section{ID: "functions", Title: "Functions", Table: tableOf(query{}, "functions", "Functions", "", costs[:min(len(costs), maxCosts)],
			func(c cost) string { return c.name },
			[]column[cost]{
				{Name: "Function", Cells: func(c cost) []cell { return []cell{text(c.name)} }},
				{Name: "Own", Hint: "In its own code", Cells: func(c cost) []cell {
					return []cell{share(float64(c.own), float64(all), percent(c.own, all))}
				}},
				{Name: "Own", Number: true, Cells: func(c cost) []cell { return []cell{text(format(c.own))} }},
				{Name: "With calls", Hint: "With what it calls", Cells: func(c cost) []cell {
					return []cell{share(float64(c.total), float64(all), percent(c.total, all))}
				}},
				{Name: "With calls", Number: true, Cells: func(c cost) []cell { return []cell{text(format(c.total))} }},
			})})
	}
	if request.Type == profiling.Goroutine {
		sections = append(sections, section{ID: "goroutines", Title: "Goroutines", Text: visible(dumpOf(p))})
	}
	return sections
}

// serveDownload sends a stored profile as a file. number is the result of profiles.keep.
func (p *Pages) serveDownload(w http.ResponseWriter, number string) {
	kept, ok := p.profiles.get(number)
	if !ok {
		http.Error(w, "This profile is not kept any more: take another.", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", kept.name))
	write(w, http.StatusOK, "application/octet-stream", kept.content)
}

// executorProfiles returns a fact whose links take profiles of an executor. It returns nil if
// the executor is not registered or is lost.
func (v view) executorProfiles(e *events.Executor) []fact {
	if e.State != events.ExecutorStateRegistered && e.State != events.ExecutorStateDecommissioning {
		return nil
	}
	return v.profileFact("Profile", profiling.Request{Executor: e.ID})
}
