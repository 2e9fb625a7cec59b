package localcluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/standalone/master"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/worker"
	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// errParentEnded is the cause with which the context of a master or worker is canceled when
// stdin ends.
var errParentEnded = errors.New("the application's process has ended or stopped the cluster")

// Main runs the role launch.RoleMaster, RoleWorker or RoleGuard until the parent process
// closes stdin. It returns the exit status.
func Main(role launch.Role) int {
	if role == launch.RoleGuard {
		return guard.Main()
	}
	if err := serve(role, os.Stdin, os.Stdout); err != nil {
		_, _ = os.Stdout.Write(childReadiness{Error: err.Error()}.encode())
		return 1
	}
	return 0
}

func serve(role launch.Role, stdin io.Reader, stdout io.Writer) error {
	parent := bufio.NewReader(stdin)
	line, err := parent.ReadBytes('\n')
	var given childInstructions
	if err == nil {
		err = json.Unmarshal(line, &given)
	}
	if err != nil {
		return fmt.Errorf("%s=%s: no instructions on stdin (%w): a local cluster starts such processes", launch.EnvRole, role, err)
	}
	ctx, end := context.WithCancelCause(context.Background())
	defer end(nil)
	// A read of stdin cannot be interrupted, so this goroutine may run until the process
	// exits.
	go func() {
		_, _ = io.Copy(io.Discard, parent)
		end(errParentEnded)
	}()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	defer given.removeFiles()
	ready := func(r childReadiness) { _, _ = stdout.Write(r.encode()) }
	if role == launch.RoleMaster {
		return given.runMaster(ctx, ready)
	}
	return given.runWorker(ctx, ready)
}

// removeFiles removes this process's directory and the workers' cache, because the process
// that started the cluster may have been killed before it could remove them.
func (h *childInstructions) removeFiles() {
	if h.KeepFiles {
		return
	}
	own := h.Worker
	if own == "" {
		own = masterPart
	}
	_ = os.RemoveAll(filepath.Join(h.Directory, own))
	_ = os.RemoveAll(filepath.Join(h.Directory, cachePart)) // the other processes are stopping too
	_ = os.Remove(h.Directory)                              // fails unless this is the last process
}

func (h *childInstructions) with(values map[string]string) (*config.Config, *protocol.Credentials, *slog.Logger, error) {
	settings, err := config.FromMap(h.Settings)
	if err == nil {
		settings, err = settings.With(values)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	credentials, err := protocol.FromSecret(h.Secret)
	if err != nil {
		return nil, nil, nil, err
	}
	return settings, credentials, logging.New(os.Stderr, settings), nil
}

func (h *childInstructions) runMaster(ctx context.Context, ready func(childReadiness)) error {
	settings, credentials, logger, err := h.with(nil)
	if err != nil {
		return err
	}
	m, err := master.New(master.Options{
		Settings: settings, Host: loopback, WorkDir: filepath.Join(h.Directory, masterPart), Credentials: credentials,
		Logger: logger.With("process", "master"),
	})
	if err != nil {
		return err
	}
	ready(childReadiness{Address: m.Address()})
	return m.Run(ctx)
}

func (h *childInstructions) runWorker(ctx context.Context, ready func(childReadiness)) error {
	settings, credentials, logger, err := h.with(map[string]string{
		config.WorkerHost.Name():   loopback,
		config.WorkerPort.Name():   "0",
		config.WorkerUIPort.Name(): "0",
		config.WorkerCores.Name():  strconv.Itoa(h.Cores),
		config.WorkerMemory.Name(): strconv.FormatInt(h.Memory, 10) + "b",
		config.WorkerDir.Name():    filepath.Join(h.Directory, h.Worker),
	})
	if err != nil {
		return err
	}
	var once sync.Once
	return worker.Run(ctx, worker.Options{
		Masters: []string{h.Master}, Credentials: credentials, Settings: settings,
		Cache:      filepath.Join(h.Directory, cachePart),
		Registered: func(string) { once.Do(func() { ready(childReadiness{}) }) },
		Logger:     logger.With("process", h.Worker),
	})
}
