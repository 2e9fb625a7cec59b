package driver_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func newIdentity(t require.TestingT) *identity.Identity {
	id, err := identity.New()
	require.NoError(t, err)
	return id
}

// networked returns a driver that listens on loopback, and the credentials for its executors.
func networked(t *testing.T, options driver.Options) (*driver.Driver, []byte) {
	options.Identity, options.BindAddress = newIdentity(t), "127.0.0.1:0"
	return start(t, options), options.Identity.Pass()
}

// process is an executor with a connection of its own, as in a separate process.
type process struct {
	kill context.CancelFunc
	err  chan error
}

func run(t *testing.T, options executorbackend.Options, address string, pass []byte) *process {
	if options.Host == "" {
		options.Host = "host" + options.ID
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{kill: cancel, err: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.err <- executorbackend.Run(ctx, options, address, pass)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return p
}

func TestJobOverTheNetwork(t *testing.T) {
	d, pass := networked(t, driver.Options{})
	one := run(t, executorbackend.Options{ID: "1", Cores: 2}, d.Addr(), pass)
	two := run(t, executorbackend.Options{ID: "2", Cores: 1}, d.Addr(), pass)
	status := await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	for _, e := range status.Executors {
		require.Regexp(t, `^127\.0\.0\.1:[1-9][0-9]*$`, e.DataAddress)
	}
	requireSquares(t, t.Context(), d, 500)
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-one.err)
	require.NoError(t, <-two.err)
}

func TestExecutorLearnsTheApplicationBeforeItRegisters(t *testing.T) {
	c := settings(t, map[string]string{"task.maxResultSize": "100b"})
	d, pass := networked(t, driver.Options{ApplicationID: "application_1_2", User: "ann", Config: c, Hadoop: map[string]string{"fs.defaultFS": "hdfs://x"}})
	type key struct{}
	boot := make(chan *wire.BootstrapReply, 1)
	ended := make(chan struct{})
	p := run(t, executorbackend.Options{ID: "1", PrepareTasks: func(ctx context.Context, b *wire.BootstrapReply) (context.Context, func(), error) {
		require.Empty(t, d.Status().Executors)
		boot <- b
		return context.WithValue(ctx, key{}, "prepared"), func() { close(ended) }, nil
	}}, d.Addr(), pass)
	b := <-boot
	require.Equal(t, "application_1_2", b.GetApplicationId())
	require.Equal(t, "ann", b.GetUser())
	require.Equal(t, map[string]string{"task.maxResultSize": "100b"}, b.GetProperties())
	require.Equal(t, map[string]string{"fs.defaultFS": "hdfs://x"}, b.GetHadoop())
	// The executor uses the driver's settings.
	_, err := outcome(t.Context(), d, driver.TaskSet{Name: "j", Function: "mirror", Tasks: []driver.Task{{Input: make([]byte, 101)}}})
	require.ErrorContains(t, err, "takes 101 bytes encoded, the most is 100")
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-p.err)
	<-ended
}

func TestExecutorsWithoutTheSecretAreRejected(t *testing.T) {
	t.Parallel()
	d, _ := networked(t, driver.Options{})
	_, otherPass := networked(t, driver.Options{})
	for name, pass := range map[string][]byte{"another application's": otherPass, "none": nil, "damaged": []byte("x")} {
		p := run(t, executorbackend.Options{ID: "1"}, d.Addr(), pass)
		err := <-p.err
		require.Equal(t, executorbackend.ExitUnableToConnect, executorbackend.ExitCode(err), name)
	}
	require.Zero(t, d.Status().Totals.Executors)
	require.Empty(t, d.Status().Executors)
}

func TestNoDriverListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	p := run(t, executorbackend.Options{ID: "1"}, address, newIdentity(t).Pass())
	err = <-p.err
	require.Equal(t, executorbackend.ExitUnableToConnect, executorbackend.ExitCode(err))
	require.ErrorContains(t, err, "unable to connect to the driver at "+address+", tried 3 times in ")
	require.ErrorContains(t, err, "connection refused")
}

func TestRefusedOverTheNetwork(t *testing.T) {
	d, pass := networked(t, driver.Options{})
	first := run(t, executorbackend.Options{ID: "1"}, d.Addr(), pass)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 1 })
	second := run(t, executorbackend.Options{ID: "1", Host: "elsewhere"}, d.Addr(), pass)
	err := <-second.err
	require.Equal(t, executorbackend.ExitRefused, executorbackend.ExitCode(err))
	require.ErrorContains(t, err, "registered already, on host1")
	requireSquares(t, t.Context(), d, 10)
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-first.err)
}

func TestExecutorOfADeadDriverEnds(t *testing.T) {
	d, pass := networked(t, driver.Options{Manager: &manager{}})
	p := run(t, executorbackend.Options{ID: "1"}, d.Addr(), pass)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 1 })
	go func() {
		_, _ = outcome(t.Context(), d, driver.TaskSet{Function: "wait", Tasks: make([]driver.Task, 1)})
	}()
	await(t, d, func(s driver.Status) bool { return s.Totals.Running == 1 })
	d.ExecutorLost("1", driver.Loss{Reason: "was preempted"})
	err := <-p.err
	require.Equal(t, executorbackend.ExitDisconnected, executorbackend.ExitCode(err))
	require.ErrorContains(t, err, "executor 1 was preempted")
}

func TestKilledExecutorOverTheNetwork(t *testing.T) {
	d, pass := networked(t, driver.Options{Manager: &manager{}})
	job := driver.TaskSet{Name: "nap", Function: "nap"}
	for range 40 {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(5 * time.Millisecond))})
	}
	victim := run(t, executorbackend.Options{ID: "1", Cores: 2}, d.Addr(), pass)
	run(t, executorbackend.Options{ID: "2", Cores: 2}, d.Addr(), pass)
	await(t, d, func(s driver.Status) bool { return s.Totals.Executors == 2 })
	go func() {
		await(t, d, func(s driver.Status) bool { return s.Totals.Done >= 8 })
		victim.kill()
	}()
	results, err := outcome(t.Context(), d, job)
	require.NoError(t, err)
	require.Len(t, results, 40)
	require.ErrorIs(t, <-victim.err, context.Canceled)
	// The executor may have been killed only at the end of the job.
	status := await(t, d, func(s driver.Status) bool { return s.Totals.ExecutorsLost == 1 })
	require.Equal(t, 40, status.Totals.Done)
}

func TestLargePayloads(t *testing.T) {
	const size = 20 << 20
	d, pass := networked(t, driver.Options{Config: settings(t, map[string]string{"executor.heartbeatInterval": "1ms"})})
	run(t, executorbackend.Options{ID: "1", Cores: 2}, d.Addr(), pass)
	common := bytes.Repeat([]byte("c"), size/10)
	job := driver.TaskSet{Name: "mirror", Function: "mirror", Shared: common, Tasks: []driver.Task{
		{Input: bytes.Repeat([]byte("a"), size)}, {}, {Input: bytes.Repeat([]byte("b"), size/10)},
	}}
	results, err := outcome(t.Context(), d, job)
	require.NoError(t, err)
	for i := range job.Tasks {
		want := append(common[:size/10:size/10], job.Tasks[i].Input...)
		require.True(t, bytes.Equal(want, results[i].Value), "result of task %d", i)
	}
	await(t, d, func(s driver.Status) bool { return s.Executors[0].ResidentBytes > uint64(config.MiB) })
}

func TestAnAddressInUseIsNamedInTheError(t *testing.T) {
	d, _ := networked(t, driver.Options{})
	_, err := driver.New(driver.Options{Identity: newIdentity(t), BindAddress: d.Addr()})
	require.ErrorContains(t, err, "the driver cannot listen on")
	require.ErrorContains(t, err, d.Addr())
}

func TestLocalDriverDoesNotListen(t *testing.T) {
	require.Empty(t, start(t, driver.Options{}).Addr())
}

func TestNothingSecretInTheLog(t *testing.T) {
	id := newIdentity(t)
	var log lockedBuffer
	logger := log.logger()
	d, err := driver.New(driver.Options{Identity: id, BindAddress: "127.0.0.1:0", Logger: logger})
	require.NoError(t, err)
	p := run(t, executorbackend.Options{ID: "1", Logger: logger}, d.Addr(), id.Pass())
	requireSquares(t, t.Context(), d, 3)
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, <-p.err)
	text := log.String()
	require.Contains(t, text, "executor registered")
	require.False(t, strings.Contains(text, string(id.Pass()[8:40])))
	require.NotContains(t, os.Environ(), string(id.Pass()))
}
