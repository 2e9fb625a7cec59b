package main

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// secret is the secret of the standalone cluster. It need not be secret, because the cluster is
// on loopback.
const secret = "measured, and no secret at all"

// testMaster is a standalone master for one application. It starts no executors: this program
// starts them.
type testMaster struct {
	protocol.UnimplementedApplicationServer
	protocol.UnimplementedFilesServer

	executors int                            // number of executors that will register
	command   chan *protocol.ExecutorCommand // receives the application's executor command, with the address and the secret of the driver
	all       chan time.Time                 // receives the time at which the last executor has registered

	listener net.Listener
	server   *grpc.Server
	serving  sync.WaitGroup
}

func startMaster(executors int) (*testMaster, error) {
	credentials, err := protocol.FromSecret([]byte(secret))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &testMaster{
		executors: executors, command: make(chan *protocol.ExecutorCommand, 1), all: make(chan time.Time, 1),
		listener: listener, server: grpc.NewServer(credentials.ServerOptions()...),
	}
	protocol.RegisterApplicationServer(m.server, m)
	protocol.RegisterFilesServer(m.server, m)
	m.serving.Go(func() { _ = m.server.Serve(listener) })
	return m, nil
}

func (m *testMaster) stop() {
	m.server.Stop()
	m.serving.Wait()
}

// environment returns the environment variables that a driver on the cluster needs.
func (m *testMaster) environment() []string {
	return []string{
		"BOBBIN_MASTER=" + masterurl.StandaloneURL(m.listener.Addr().String()),
		"BOBBIN_AUTHENTICATE_SECRET=" + secret,
		"BOBBIN_EXECUTOR_INSTANCES=" + strconv.Itoa(m.executors),
		"BOBBIN_EXECUTOR_CORES=1",
		"BOBBIN_LOG_LEVEL=warn",
	}
}

// Missing implements protocol.FilesServer. It reports that no file is missing, because
// executors need no files.
func (m *testMaster) Missing(context.Context, *protocol.MissingRequest) (*protocol.MissingReply, error) {
	return &protocol.MissingReply{}, nil
}

// Attach implements protocol.ApplicationServer. It serves the application until it ends.
func (m *testMaster) Attach(stream grpc.BidiStreamingServer[protocol.ApplicationMessage, protocol.ApplicationOrder]) error {
	message, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := message.GetHello()
	m.command <- hello.GetDescription().GetCommand()
	welcome := &protocol.ApplicationWelcome{ApplicationId: hello.GetApplicationId(), Master: m.listener.Addr().String()}
	if err := stream.Send(&protocol.ApplicationOrder{Welcome: welcome}); err != nil {
		return err
	}
	registered := 0
	for message.GetFinish() == nil {
		if message, err = stream.Recv(); err != nil {
			return err
		}
		if count := len(message.GetRegistered()); count > 0 {
			if registered += count; registered == m.executors {
				m.all <- time.Now()
			}
		}
	}
	return nil
}
