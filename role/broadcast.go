package role

import (
	"cmp"
	"log/slog"
	"math"
	"net"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
)

// The driver stores its broadcast values in memory up to the process's memory limit divided by
// broadcastMemoryDivisor, or up to defaultBroadcastMemory bytes if the process has no limit. It
// writes further values to disk.
const (
	broadcastMemoryDivisor = 8
	defaultBroadcastMemory = 256 << 20
)

// broadcasts holds the source of an application's broadcast values. The first broadcast value
// creates the source.
type broadcasts struct {
	logger *slog.Logger

	mu            sync.Mutex
	source        *broadcast.Source // serves the blocks of values to executors; nil before the first value
	server        *transfer.Server  // nil if all executors are in this process
	stopListening func()
}

// Broadcasts returns the source of the application's broadcast values. The first call creates the
// source and opens its data port; no port is opened if all executors are in this process.
// Application.run closes the source when the driver function has returned.
func (a *Application) Broadcasts() (*broadcast.Source, error) {
	b := &a.broadcasts
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.source != nil {
		return b.source, nil
	}
	blocks := block.Options{Memory: defaultBroadcastMemory, Logger: b.logger}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		blocks.Memory = limit / broadcastMemoryDivisor
	}
	source := broadcast.NewSource(blocks)
	if a.host != "" {
		if err := a.serveBroadcasts(source); err != nil {
			source.Close()
			return nil, err
		}
	}
	b.source, b.stopListening = source, a.Driver.Listen(homeRegistrar{source})
	return source, nil
}

// serveBroadcasts opens the data port from which executors fetch the values of source.
func (a *Application) serveBroadcasts(source *broadcast.Source) error {
	pass, err := identity.ParsePass(a.pass)
	if err != nil {
		return err
	}
	access, err := pass.PeerTLS()
	if err != nil {
		return err
	}
	options := transfer.Options{TLS: access, Timeout: config.NetworkTimeout.In(a.Settings), Logger: a.broadcasts.logger}
	first := config.BlockManagerPort.In(a.Settings)
	last := first
	if first != 0 {
		last += config.PortMaxRetries.In(a.Settings)
	}
	server, err := transfer.ListenWithin(cmp.Or(a.bind, a.host), first, last, source.Open, options)
	if err != nil {
		return err
	}
	a.broadcasts.server = server
	source.Advertise(net.JoinHostPort(a.host, strconv.Itoa(server.Addr().(*net.TCPAddr).Port)))
	return nil
}

// closeBroadcasts closes the source of broadcast values and its data port.
func (a *Application) closeBroadcasts() {
	b := &a.broadcasts
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.source == nil {
		return
	}
	b.stopListening()
	if b.server != nil {
		b.server.Close()
	}
	b.source.Close()
}

// homeRegistrar registers executors with a source of broadcast values as homes: processes that
// store pieces of values and serve them to other executors.
type homeRegistrar struct{ *broadcast.Source }

// ExecutorAdded implements driver.ExecutorListener.
func (h homeRegistrar) ExecutorAdded(info driver.ExecutorInfo) { h.AddHome(info.DataAddress) }

// ExecutorDecommissioned implements driver.ExecutorListener. It removes the executor as a home,
// because the executor will stop soon. No piece is lost, because the driver stores all pieces.
func (h homeRegistrar) ExecutorDecommissioned(info driver.ExecutorInfo) (handsOver bool) {
	h.RemoveHome(info.DataAddress)
	return false
}

// ExecutorLost implements driver.ExecutorListener.
func (h homeRegistrar) ExecutorLost(info driver.ExecutorInfo, _ string) {
	h.RemoveHome(info.DataAddress)
}

var _ driver.ExecutorListener = homeRegistrar{}
