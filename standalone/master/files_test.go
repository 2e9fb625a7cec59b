package master

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

func upload(ctx context.Context, c protocol.FilesClient, sum []byte, size int64, pieces ...[]byte) error {
	stream, err := c.Upload(ctx)
	if err != nil {
		return err
	}
	request := &protocol.UploadRequest{Sha256: sum, Size: size}
	for _, piece := range pieces {
		request.Data = piece
		if err := stream.Send(request); err != nil {
			break // CloseAndRecv returns the error
		}
		request = &protocol.UploadRequest{}
	}
	if len(pieces) == 0 {
		_ = stream.Send(request)
	}
	_, err = stream.CloseAndRecv()
	return err
}

func fetch(t *testing.T, c protocol.FilesClient, sum []byte) ([]byte, error) {
	stream, err := c.Fetch(t.Context(), &protocol.FetchRequest{Sha256: sum})
	require.NoError(t, err)
	var content []byte
	for {
		reply, err := stream.Recv()
		if err == io.EOF {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		require.LessOrEqual(t, len(reply.GetData()), protocol.ChunkBytes)
		content = append(content, reply.GetData()...)
	}
}

func TestFilesAreStoredByContent(t *testing.T) {
	m := start(t, nil, nil)
	c := protocol.NewFilesClient(dial(t, m))
	content := bytes.Repeat([]byte("bobbin"), protocol.ChunkBytes/3)
	sum := sha256.Sum256(content)
	missing := func(sums ...[]byte) [][]byte {
		reply, err := c.Missing(t.Context(), &protocol.MissingRequest{Sha256: sums})
		require.NoError(t, err)
		return reply.GetSha256()
	}
	require.Equal(t, [][]byte{sum[:]}, missing(sum[:]))
	_, err := fetch(t, c, sum[:])
	require.Equal(t, codes.NotFound, status.Code(err))

	for name, try := range map[string]error{
		"another content": upload(t.Context(), c, sum[:], 3, []byte("abc")),
		"too short":       upload(t.Context(), c, sum[:], int64(len(content)), content[:100]),
		"too long":        upload(t.Context(), c, sum[:], 3, content[:100]),
		"no hash":         upload(t.Context(), c, []byte("x"), 3, []byte("abc")),
		"negative":        upload(t.Context(), c, sum[:], -1),
	} {
		require.Equal(t, codes.InvalidArgument, status.Code(try), "%s: %v", name, try)
	}
	require.Equal(t, [][]byte{sum[:]}, missing(sum[:]), "what is wrong is not kept")

	require.NoError(t, upload(t.Context(), c, sum[:], int64(len(content)), content[:1000], content[1000:]))
	require.NoError(t, upload(t.Context(), c, sum[:], int64(len(content)), content), "a second time")
	require.Empty(t, missing(sum[:]))
	fetched, err := fetch(t, c, sum[:])
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, fetched))

	empty := sha256.Sum256(nil)
	require.NoError(t, upload(t.Context(), c, empty[:], 0))
	fetched, err = fetch(t, c, empty[:])
	require.NoError(t, err)
	require.Empty(t, fetched)
	drafts, err := filepath.Glob(filepath.Join(m.files.dir, draftPrefix+"*"))
	require.NoError(t, err)
	require.Empty(t, drafts)
}

func TestOldFilesAreRemovedUnlessInUse(t *testing.T) {
	store, err := openFileStore(t.TempDir())
	require.NoError(t, err)
	put := func(content string, age time.Duration) []byte {
		sum := sha256.Sum256([]byte(content))
		d, err := store.begin(sum[:], int64(len(content)))
		require.NoError(t, err)
		require.NoError(t, d.write([]byte(content)))
		require.NoError(t, d.commit())
		d.drop()
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(store.path(sum[:]), at, at))
		return sum[:]
	}
	old, used, young := put("old", 2*time.Hour), put("used", 2*time.Hour), put("young", 0)
	asked := put("asked for", 2*time.Hour)
	require.True(t, store.touch(asked))
	draft := filepath.Join(store.dir, draftPrefix+"1")
	require.NoError(t, os.WriteFile(draft, nil, 0o600))
	at := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(draft, at, at))

	removed, err := store.removeOld(time.Now().Add(-time.Hour), map[string]bool{string(used): true})
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.NoFileExists(t, draft)
	require.False(t, store.touch(old))
	require.True(t, store.touch(used) && store.has(young) && store.has(asked))
}

// In TestAStandbyRemovesFilesThatTheLeaderDoesNotNeed the leader stores one of a standby's old
// files and needs another one.
func TestAStandbyRemovesFilesThatTheLeaderDoesNotNeed(t *testing.T) {
	backend := recovery.Memory()
	leader := start(t, backend, nil)
	leads(t, leader)
	standby := start(t, backend, nil)
	sums := map[string][]byte{}
	for _, content := range []string{"nobody's", "the leader's too", "in use"} {
		sum := sha256.Sum256([]byte(content))
		sums[content] = sum[:]
		require.NoError(t, upload(t.Context(), protocol.NewFilesClient(dial(t, standby)), sum[:], int64(len(content)), []byte(content)))
	}
	first := firstMessage("app", 1)
	first.Hello.Description.Command.Program = &protocol.File{Name: "program", Sha256: sums["in use"]}
	attachApplication(t, dial(t, leader), first).next()
	const shared = "the leader's too"
	require.NoError(t, upload(t.Context(), protocol.NewFilesClient(dial(t, leader)), sums[shared], int64(len(shared)), []byte(shared)))
	at := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(leader.files.path(sums[shared]), at, at))

	later := time.Now().Add(config.FileRetention.In(standby.settings) + time.Minute)
	require.NoError(t, standby.sweep(t.Context(), later))
	require.False(t, standby.files.has(sums["nobody's"]))
	require.True(t, standby.files.has(sums[shared]) && standby.files.has(sums["in use"]))
	info, err := os.Stat(leader.files.path(sums[shared]))
	require.NoError(t, err)
	require.True(t, info.ModTime().Equal(at), "the question keeps nothing young")

	require.NoError(t, leader.sweep(t.Context(), later))
	require.False(t, leader.files.has(sums[shared]))
	require.NoError(t, standby.sweep(t.Context(), later))
	require.False(t, standby.files.has(sums[shared]))
	require.True(t, standby.files.has(sums["in use"]))
}

func TestADriverFromItsSubmissionToItsEnd(t *testing.T) {
	m := start(t, nil, nil)
	leads(t, m)
	connection := dial(t, m)
	c := protocol.NewClusterClient(connection)
	program := []byte("#!/bin/true")
	sum := sha256.Sum256(program)
	request := &protocol.SubmitDriverRequest{Submission: "s1", Description: &protocol.DriverDescription{
		Name: "job", Program: &protocol.File{Name: "job", Sha256: sum[:], Size: int64(len(program)), Executable: true},
		Cores: 1, Memory: 1 << 30,
	}}
	_, err := c.SubmitDriver(t.Context(), request)
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	_, standby := protocol.LeaderOf(err)
	require.False(t, standby)
	require.ErrorContains(t, err, "upload it first")
	require.NoError(t, upload(t.Context(), protocol.NewFilesClient(connection), sum[:], int64(len(program)), program))

	submitted, err := c.SubmitDriver(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, protocol.DriverState_DRIVER_SUBMITTED, submitted.GetState())
	again, err := c.SubmitDriver(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, submitted.GetDriverId(), again.GetDriverId(), "the same submission submits once")

	worker := attachWorker(t, connection, smallWorker("w1"))
	launch := worker.until(func(o *protocol.WorkerOrder) bool { return len(o.GetLaunchDrivers()) > 0 }).GetLaunchDrivers()[0]
	require.Equal(t, submitted.GetDriverId(), launch.GetDriverId())
	require.Equal(t, uint32(1), launch.GetLaunch())
	tell := func(sequence uint64, state protocol.DriverState) {
		worker.send(&protocol.WorkerMessage{Report: &protocol.WorkerReport{Sequence: sequence, Drivers: []*protocol.DriverReport{{
			DriverId: launch.GetDriverId(), Launch: 1, State: state, LogUrl: "http://w1/logs", ApplicationId: "app-1",
		}}}})
		worker.until(func(o *protocol.WorkerOrder) bool { return o.GetAcknowledged() == sequence })
	}
	tell(1, protocol.DriverState_DRIVER_RUNNING)
	reply, err := c.DriverStatus(t.Context(), &protocol.DriverRequest{DriverId: launch.GetDriverId()})
	require.NoError(t, err)
	require.Equal(t, protocol.DriverState_DRIVER_RUNNING, reply.GetState())
	require.Equal(t, "w1", reply.GetHost())
	require.Equal(t, "app-1", reply.GetApplicationId())

	_, err = c.KillDriver(t.Context(), &protocol.DriverRequest{DriverId: launch.GetDriverId()})
	require.NoError(t, err)
	worker.until(func(o *protocol.WorkerOrder) bool { return len(o.GetKillDrivers()) == 1 })
	tell(2, protocol.DriverState_DRIVER_KILLED)
	reply, err = c.DriverStatus(t.Context(), &protocol.DriverRequest{DriverId: launch.GetDriverId()})
	require.NoError(t, err)
	require.Equal(t, protocol.DriverState_DRIVER_KILLED, reply.GetState())
	require.Equal(t, "http://w1/logs", reply.GetLogUrl())
}
