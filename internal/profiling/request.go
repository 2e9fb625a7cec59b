package profiling

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Path is the path at which a web server serves profiles, relative to the server's root. The
// parameters of the URL are those of Request.Values.
const Path = "api/profile"

// grace is added to the duration of a profile to obtain the timeout for taking it.
const grace = 20 * time.Second

// Request describes which processes to profile, and how. At most one of Executor, Job and
// Driver is set.
type Request struct {
	Type     string        `json:"type"`
	Duration time.Duration `json:"duration"`           // 1 s to MaxDuration; required but ignored if HasDuration returns false
	Executor string        `json:"executor,omitempty"` // id of the executor; "" means the 20 executors that run the most tasks
	Job      uint64        `json:"job,omitempty"`      // profile only executors that run tasks of this job, at most 20; 0 means any job
	Driver   bool          `json:"driver,omitempty"`   // profile the driver's process, and no executor
}

// Check returns an error if the request is invalid.
func (r Request) Check() error {
	targets := 0
	for _, set := range []bool{r.Executor != "", r.Job != 0, r.Driver} {
		if set {
			targets++
		}
	}
	if targets > 1 {
		return errors.New("want one of executor, job and driver")
	}
	return Check(r.Type, r.Duration)
}

// Values returns the request as the parameters of a URL: type, seconds, and executor, job
// or driver.
func (r Request) Values() url.Values {
	values := url.Values{"type": {r.Type}, "seconds": {strconv.Itoa(int(r.Duration.Seconds()))}}
	if r.Executor != "" {
		values.Set("executor", r.Executor)
	}
	if r.Job != 0 {
		values.Set("job", strconv.FormatUint(r.Job, 10))
	}
	if r.Driver {
		values.Set("driver", "true")
	}
	return values
}

// ParseRequest returns the request that the parameters of a URL describe. It fails if they
// are invalid.
func ParseRequest(values url.Values) (Request, error) {
	r := Request{Type: values.Get("type"), Executor: values.Get("executor"), Driver: values.Get("driver") == "true"}
	seconds, err := strconv.Atoi(values.Get("seconds"))
	if err != nil {
		return r, fmt.Errorf("seconds=%q: want a whole number", values.Get("seconds"))
	}
	r.Duration = time.Duration(seconds) * time.Second
	if values.Has("job") {
		if r.Job, err = strconv.ParseUint(values.Get("job"), 10, 64); err != nil {
			return r, fmt.Errorf("job=%q: want the number of a job", values.Get("job"))
		}
	}
	return r, r.Check()
}

// Taker takes the profile that a request describes, in the format of go tool pprof.
type Taker func(ctx context.Context, r Request) ([]byte, error)

// Bounded calls take with a timeout of the request's duration plus grace.
func (take Taker) Bounded(ctx context.Context, r Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Duration+grace)
	defer cancel()
	return take(ctx, r)
}

// Handler returns a handler that takes the profile that the parameters of the URL describe.
func Handler(take Taker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := ParseRequest(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		profile, err := take.Bounded(r.Context(), request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(profile) // an error means that the client has disconnected
	})
}
