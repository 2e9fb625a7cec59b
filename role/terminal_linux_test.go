package role

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/function"
)

// screen collects what is written to a pseudoterminal.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) shows(text string) bool { return strings.Contains(s.String(), text) }

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// openTerminal returns a pseudoterminal and its screen. close closes the terminal and waits until
// the screen has all that was written.
func openTerminal(t *testing.T) (terminal *os.File, shown *screen, close func()) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(controller.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	shown = &screen{}
	var reading sync.WaitGroup
	reading.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, err := controller.Read(buffer)
			shown.mu.Lock()
			shown.text.Write(buffer[:n])
			shown.mu.Unlock()
			if err != nil { // EIO if the terminal is closed
				return
			}
		}
	})
	return terminal, shown, func() {
		require.NoError(t, terminal.Close())
		reading.Wait()
		require.NoError(t, controller.Close())
	}
}

// endListener receives the error with which its task set has ended, or nil.
type endListener chan error

func (endListener) TaskDone(driver.Result)        {}
func (endListener) TaskFailed(driver.TaskFailure) {}
func (l endListener) Ended(err error)             { l <- err }

// released is closed when tasks of the function role/waits may end.
var released chan struct{}

func init() {
	function.Register("role/waits", func(ctx context.Context, _ function.Call) ([]byte, error) {
		select {
		case <-released:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
}

func TestALocalRunOnATerminal(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("BOBBIN_MASTER", "local[2]")
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	logger, stderr := slog.Default(), os.Stderr
	defer func() { os.Stderr = stderr; slog.SetDefault(logger) }()
	for name, verbose := range map[string]bool{"without --verbose": false, "with --verbose": true} {
		t.Run(name, func(t *testing.T) {
			if verbose {
				t.Setenv("BOBBIN_LOG_LEVEL", "info") // as --verbose does
			}
			released = make(chan struct{})
			terminal, shown, closeTerminal := openTerminal(t)
			os.Stderr = terminal
			err := runByHand(func(ctx context.Context) error {
				a, ended := FromContext(ctx), make(endListener, 1)
				_, err := a.Driver.Submit(driver.TaskSet{Name: "waits", Function: "role/waits", Tasks: make([]driver.Task, 1), CPUs: 1}, ended)
				require.NoError(t, err)
				require.Eventually(t, func() bool { return shown.shows("waits 0/1, 1 running") }, time.Minute, time.Millisecond, "%s", shown)
				a.Logger.Warn("something is odd")
				close(released)
				return <-ended
			})
			require.NoError(t, err)
			closeTerminal()
			require.Regexp(t, `pages: http://127\.0\.0\.1:\d+/`, shown)
			require.Contains(t, shown.String(), "something is odd")
			require.Regexp(t, `local-[0-9a-f]+ SUCCEEDED after `, shown)
			require.Regexp(t, `tasks +1 in 1 task set`, shown)
			require.Equal(t, verbose, shown.shows("executor registered"), "%s", shown)
			require.Equal(t, verbose, shown.shows("INFO"), "%s", shown)
		})
	}
}
