package client

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// callTimeout limits the duration of one call to one master, except uploads.
	callTimeout = 20 * time.Second
	// noLeaderTimeout limits how long a call is retried while masters answer but none leads,
	// as during an election.
	noLeaderTimeout = 60 * time.Second
	// noAnswerTimeout limits how long a call is retried while no master answers.
	noAnswerTimeout = 5 * time.Second
	// standbyTimeout limits the duration of all uploads to masters other than the leader.
	standbyTimeout = 20 * time.Second
	// The pause between two rounds of calls grows from about firstPause to about lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Masters calls the leading master of a standalone cluster. It is safe for concurrent use.
type Masters struct{ masters *protocol.Masters }

// NewMasters returns a client of the masters at the addresses, host:port. dial has gRPC's dial
// options. The client connects when the first method is called.
func NewMasters(addresses []string, dial []grpc.DialOption) *Masters {
	return &Masters{masters: protocol.NewMasters(addresses, dial)}
}

// Close closes the connections.
func (m *Masters) Close() { m.masters.Close() }

// Submit submits a driver. files are the driver's program, which is the first file, and other
// files for its directory. Submit uploads them to every reachable master, because each may
// become the leader.
func (m *Masters) Submit(ctx context.Context, description *protocol.DriverDescription, files *application.HashedFiles) (*protocol.DriverReply, error) {
	described := files.Described()
	if len(described) == 0 {
		return nil, errors.New("a driver needs a program")
	}
	description.Program, description.Files = described[0], described[1:]
	request := &protocol.SubmitDriverRequest{Description: description, Submission: cryptorand.Text()}
	var reply *protocol.DriverReply
	leader := ""
	err := m.call(ctx, func(ctx context.Context, master string, connection *grpc.ClientConn) (err error) {
		leader = master
		if err = files.Upload(ctx, protocol.NewFilesClient(connection)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply, err = protocol.NewClusterClient(connection).SubmitDriver(ctx, request)
		return err
	})
	if err == nil {
		m.uploadToStandbys(ctx, files, leader)
	}
	return reply, err
}

// uploadToStandbys uploads files to all reachable masters except the leader.
func (m *Masters) uploadToStandbys(ctx context.Context, files *application.HashedFiles, leader string) {
	ctx, cancel := context.WithTimeout(ctx, standbyTimeout)
	defer cancel()
	var uploads sync.WaitGroup
	defer uploads.Wait()
	for _, master := range m.masters.All() {
		if master == leader {
			continue
		}
		uploads.Go(func() {
			if connection, err := m.masters.Connection(master); err == nil {
				_ = files.Upload(ctx, protocol.NewFilesClient(connection)) // errors are ignored, because the leader already has the files
			}
		})
	}
}

// Driver returns the state of a driver.
func (m *Masters) Driver(ctx context.Context, id string) (reply *protocol.DriverReply, err error) {
	err = m.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) (err error) {
		reply, err = cluster.DriverStatus(ctx, &protocol.DriverRequest{DriverId: id})
		return err
	})
	return reply, err
}

// KillDriver requests that the leader end a driver. It does not wait for the end.
func (m *Masters) KillDriver(ctx context.Context, id string) (reply *protocol.DriverReply, err error) {
	err = m.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) (err error) {
		reply, err = cluster.KillDriver(ctx, &protocol.DriverRequest{DriverId: id})
		return err
	})
	return reply, err
}

// KillApplication ends an application.
func (m *Masters) KillApplication(ctx context.Context, id string) error {
	return m.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		_, err := cluster.KillApplication(ctx, &protocol.ApplicationRequest{ApplicationId: id})
		return err
	})
}

// Decommission makes the leader record that the workers with these ids are being
// decommissioned: they accept no new executors or drivers, and stop when the running ones have
// ended. It ignores unknown ids.
func (m *Masters) Decommission(ctx context.Context, workers []string) error {
	return m.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		_, err := cluster.DecommissionWorkers(ctx, &protocol.DecommissionRequest{WorkerIds: workers})
		return err
	})
}

// Status returns the cluster's state as JSON (cluster.Status of standalone/master/cluster).
func (m *Masters) Status(ctx context.Context) (encoded []byte, err error) {
	err = m.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		reply, err := cluster.Status(ctx, &protocol.StatusRequest{})
		if err != nil {
			return err
		}
		encoded = reply.GetJson()
		return refuseStandby(encoded)
	})
	return encoded, err
}

// refuseStandby fails if the status is that of a standby, which does not have the cluster's
// state.
func refuseStandby(encoded []byte) error {
	var role struct {
		Phase  string `json:"phase"`
		Leader string `json:"leader"`
	}
	if err := json.Unmarshal(encoded, &role); err != nil {
		return fmt.Errorf("the master's status: %w", err)
	}
	if role.Phase == "STANDBY" {
		return protocol.StandbyError(role.Leader)
	}
	return nil
}

func (m *Masters) ask(ctx context.Context, call func(ctx context.Context, cluster protocol.ClusterClient) error) error {
	return m.call(ctx, func(ctx context.Context, _ string, connection *grpc.ClientConn) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return call(ctx, protocol.NewClusterClient(connection))
	})
}

// call calls do for each master, beginning with the last known leader, until do succeeds.
// After all masters it pauses and begins again, unless the error shows that a retry is
// useless. It stops after noAnswerTimeout, or after noLeaderTimeout if standbys answer.
func (m *Masters) call(ctx context.Context, do func(ctx context.Context, master string, connection *grpc.ClientConn) error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var problems []protocol.Refusal
		answered := false
		for tried := map[string]bool{}; ; {
			master, ok := m.untried(tried)
			if !ok {
				break
			}
			tried[master] = true
			err := m.callOne(ctx, master, do)
			if err == nil {
				m.masters.Prefer(master)
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			leader, standby := protocol.LeaderOf(err)
			var unreadable *application.UnreadableError
			switch {
			case errors.As(err, &unreadable):
				return err
			case standby:
				answered = true
				m.masters.Learn(leader)
				m.masters.Prefer(leader)
			case protocol.IsFinal(err):
				return protocol.Refusal{Master: master, Err: err}.Explain()
			}
			problems = append(problems, protocol.Refusal{Master: master, Err: err})
		}
		timeout := noAnswerTimeout
		if answered {
			timeout = noLeaderTimeout
		}
		if waited := time.Since(began); waited >= timeout || protocol.AllDistrust(problems) {
			return fmt.Errorf("no master leads that can be reached: %w", protocol.ExplainAll(problems))
		}
		if err := client.Sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return err
		}
	}
}

// untried returns a master that is not in tried. It returns false if all masters were tried.
func (m *Masters) untried(tried map[string]bool) (string, bool) {
	for _, master := range m.masters.All() {
		if !tried[master] {
			return master, true
		}
	}
	return "", false
}

func (m *Masters) callOne(ctx context.Context, master string, do func(ctx context.Context, master string, connection *grpc.ClientConn) error) error {
	connection, err := m.masters.Connection(master)
	if err != nil {
		return err
	}
	return do(ctx, master, connection)
}
