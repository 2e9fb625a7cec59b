package page

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
)

// ProfilePath is the path of profiles, relative to the tracking URL. The parameters are
// type, seconds, and executor (an id) or driver (true).
const ProfilePath = "api/profile"

// profileGrace is how much longer than its duration a profile may take.
const profileGrace = 20 * time.Second

// profileRequest reads the parameters of a request for a profile.
func profileRequest(r *http.Request) (request driver.ProfileRequest, err error) {
	values := r.URL.Query()
	request = driver.ProfileRequest{Type: values.Get("type"), Executor: values.Get("executor"), Driver: values.Get("driver") == "true"}
	seconds, err := strconv.Atoi(values.Get("seconds"))
	if err != nil {
		return request, fmt.Errorf("seconds=%q: want a whole number", values.Get("seconds"))
	}
	request.Duration = time.Duration(seconds) * time.Second
	return request, profiling.Check(request.Type, request.Duration)
}

// serveProfile returns a handler that takes profiles.
func serveProfile(take func(context.Context, driver.ProfileRequest) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request, err := profileRequest(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), request.Duration+profileGrace)
		defer cancel()
		profile, err := take(ctx, request)
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(profile) // fails if the client has disconnected
	}
}
