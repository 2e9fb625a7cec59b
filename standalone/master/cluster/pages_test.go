package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestPagesAndSummaryOfADriversApplication(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 2, 10*mib)
	reply, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{Description: &protocol.DriverDescription{
		Program: &protocol.File{Name: "x"}, Cores: 1, Memory: mib,
	}})
	require.NoError(t, err)
	s.settle()
	id := reply.GetDriverId()
	shows := func(webURL, summary string) {
		t.Helper()
		status := s.c.DriverStatus(id)
		require.Equal(t, webURL, status.GetWebUrl())
		require.Equal(t, summary, status.GetSummary())
	}
	shows("", "")

	a := &simApp{hello: &protocol.ApplicationHello{Version: protocol.Version, Registration: "r", Description: &protocol.ApplicationDescription{
		DriverId: id, WebUrl: "http://w0:4040/x/",
	}}, request: &protocol.ExecutorRequest{}}
	s.apps["r"] = a
	s.attachApp(a)
	shows("http://w0:4040/x/", "")
	require.Equal(t, "http://w0:4040/x/", s.c.Status().Drivers[0].WebURL)
	require.Equal(t, "http://w0:4040/x/", s.c.Status().Applications[0].WebURL)

	s.c.Finish(s.now, a.hello.GetApplicationId(), &protocol.Finish{Succeeded: true, Summary: "tasks=3"})
	s.endDriver(w, driverRunKey{id, 1}, protocol.DriverState_DRIVER_FINISHED)
	s.settle()
	shows("", "tasks=3")
	ended := s.c.Status().EndedApplications[0]
	require.Empty(t, ended.WebURL, "nobody serves them any more")
	require.Equal(t, "tasks=3", ended.Summary)

	s.restart(true)
	require.Equal(t, "tasks=3", s.c.Status().EndedApplications[0].Summary)
}
