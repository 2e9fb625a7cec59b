package executorbackend

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// logBuffer is a log that the test can read while other goroutines write it.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func leakedGoroutine(stop <-chan struct{}) { <-stop }

func TestLeakedGoroutinesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		leaks := registered(func(ctx context.Context, call function.Call) ([]byte, error) {
			for range 3 {
				go leakedGoroutine(stop)
			}
			return nil, nil
		})
		careful := registered(func(ctx context.Context, call function.Call) ([]byte, error) {
			ended := make(chan struct{})
			go func() { time.Sleep(3 * time.Minute); close(ended) }()
			<-ended
			return nil, nil
		})
		var log, otherLog logBuffer
		s := start(t, Options{ID: "7", Host: "node", Cores: 2, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		// Another executor of the same process, which leaks nothing.
		other := start(t, Options{ID: "8", Host: "node", Cores: 2, Logger: slog.New(slog.NewTextHandler(&otherLog, nil))})
		other.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: "sleep"}}, Launches: []*wire.Launch{launch(1, "1s")}})
		other.update()

		s.send(&wire.DriverMessage{
			TaskSets: []*wire.TaskSet{{Id: 1, Name: "careful", Function: careful}, {Id: 2, Name: "a careless job", Function: leaks}},
			Launches: []*wire.Launch{{Attempt: 1, TaskSet: 1, Indexes: []uint32{0}, Cpus: 1}, {Attempt: 2, TaskSet: 2, Indexes: []uint32{0}, Cpus: 1}},
		})
		require.EqualValues(t, 2, s.update().GetAttempt())
		time.Sleep(leakInterval + time.Second)
		synctest.Wait()
		require.NotContains(t, log.String(), "go on though", "they may be about to end")
		time.Sleep(3 * leakInterval)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(log.String(), "go on though"), log.String())
		require.Contains(t, log.String(), `taskSet="a careless job" function=github.com/bobbin-yarn/bobbin/executorbackend.leakedGoroutine`)
		require.Contains(t, log.String(), "leaks_test.go:")
		require.Contains(t, log.String(), "goroutines=3")
		require.EqualValues(t, 1, s.update().GetAttempt())
		close(stop)
		time.Sleep(3 * leakInterval)
		s.stop()
		other.stop()
		require.NotContains(t, otherLog.String(), "go on though")
	})
}

func TestLabelledParsesAProfile(t *testing.T) {
	const profile = `goroutine profile: total 10
3 @ 0x47d92e
# labels: {"bobbin.task":"ab 2.0 first"}
#	0x4dca98	main.leak+0x18	/src/main.go:3

1 @ 0x442931 0x47cd1d
#	0x4dcb8d	main.main+0xcd				/src/main.go:10
#	0x44ca74	runtime.main+0x2d4			/go/src/runtime/proc.go:290

4 @ 0x47d92e 0x4158ee
# labels: {"bobbin.task":"ab 17.0 na\"me ä", "user":"x\"y"}
#	0x4dca58	main.leak+0x18		/src/main.go:3
#	0x4dca4e	main.body.func1.1+0xe	/src/main.go:4

2 @ 0x47d92e 0x4158ee
# labels: {"bobbin.task":"other 1.0 name"}
#	0x4dca98	main.leak+0x18	/src/main.go:3

1 @ 0x47d92e
# labels: {"bobbin.task":"ab 1.0 
`
	require.Equal(t, []goroutines{
		{label: "ab 2.0 first", function: "main.leak", source: "/src/main.go:3", count: 3},
		{label: "ab 17.0 na\"me ä", function: "main.body.func1.1", source: "/src/main.go:4", count: 4},
	},
		goroutinesLabelled(profile, "ab "))
}

func FuzzLabelled(f *testing.F) {
	f.Add("goroutine profile: total 1\n3 @ 0x1\n# labels: {\"bobbin.task\":\"ab 2.0 first\"}\n#\t0x2\tmain.leak+0x18\t/src/main.go:3\n\n", "ab ")
	f.Add("\n1 @\n# labels: {\"bobbin.task\":\"\"}", "")
	f.Fuzz(func(t *testing.T, profile, prefix string) {
		for _, g := range goroutinesLabelled(profile, prefix) {
			require.True(t, strings.HasPrefix(g.label, prefix))
		}
	})
}
