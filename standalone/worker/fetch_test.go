package worker

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// slowFiles serves one content. It sends the content byte by byte with pauses.
type slowFiles struct {
	protocol.UnimplementedFilesServer
	content string
	pause   time.Duration
	most    int // number of bytes that are sent before the server hangs
}

func (f *slowFiles) Fetch(_ *protocol.FetchRequest, stream grpc.ServerStreamingServer[protocol.FetchReply]) error {
	for i := range f.content {
		if i == f.most {
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		time.Sleep(f.pause)
		if err := stream.Send(&protocol.FetchReply{Data: []byte(f.content[i : i+1])}); err != nil {
			return err
		}
	}
	return nil
}

// written receives the content that a fetch writes.
type written struct{ bytes.Buffer }

func (w *written) restart() error {
	w.Reset()
	return nil
}

func TestATransferTimesOutWithoutProgress(t *testing.T) {
	for name, test := range map[string]struct {
		most int
		took time.Duration
	}{
		"it goes on":        {most: -1, took: 7 * 40 * time.Second},
		"it stands still":   {most: 3, took: 3*40*time.Second + fetchTimeout},
		"it does not begin": {most: 0, took: fetchTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, server := bufconn.Listen(1<<16), grpc.NewServer()
				protocol.RegisterFilesServer(server, &slowFiles{content: "content", pause: 40 * time.Second, most: test.most})
				var serving sync.WaitGroup
				serving.Go(func() { _ = server.Serve(listener) })
				m := newMasters([]string{"master:1"}, []grpc.DialOption{
					grpc.WithTransportCredentials(insecure.NewCredentials()),
					grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
				})
				began, to := time.Now(), &written{}
				err := m.fetch(t.Context(), []byte("hash"), to)
				require.Equal(t, test.took, time.Since(began).Truncate(time.Second))
				if test.most < 0 {
					require.NoError(t, err)
					require.Equal(t, "content", to.String())
				} else {
					require.ErrorContains(t, err, "fetch it (SHA-256 68617368): master master:1: ")
				}
				m.Close()
				server.Stop()
				serving.Wait()
			})
		})
	}
}
