package application

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// callTimeout bounds one call to one master, but for uploads.
	callTimeout = 20 * time.Second
	// leaderPatience is how long a leader is waited for where masters answer and
	// none leads: another is being elected.
	leaderPatience = 60 * time.Second
	// anyPatience is how long any master is waited for where none answers.
	anyPatience = 5 * time.Second
	// spareTimeout bounds what masters beside the leader are brought.
	spareTimeout = 20 * time.Second
)

// Client submits drivers to a standalone cluster, tells what the cluster runs,
// and ends it. It is safe for concurrent use.
type Client struct{ masters *protocol.Masters }

// Connect makes a client of the masters at the addresses, host:port, one of which
// leads. It connects when it is used. dial are the cluster's credentials.
func Connect(addresses []string, dial []grpc.DialOption) *Client {
	return &Client{masters: protocol.NewMasters(addresses, dial)}
}

// Close ends the connections.
func (c *Client) Close() { c.masters.Close() }

// Submit has the cluster run a driver. files are its program, which is the first,
// and what lies beside it; they go to every master that can be reached, so that
// another that takes the leader's place has them too.
func (c *Client) Submit(ctx context.Context, description *protocol.DriverDescription, files *Files) (*protocol.DriverReply, error) {
	described := files.described()
	if len(described) == 0 {
		return nil, errors.New("a driver needs a program")
	}
	description.Program, description.Files = described[0], described[1:]
	request := &protocol.SubmitDriverRequest{Description: description, Submission: random(16)}
	var reply *protocol.DriverReply
	leader := ""
	err := c.call(ctx, func(ctx context.Context, master string, connection *grpc.ClientConn) (err error) {
		leader = master
		if err = files.bring(ctx, protocol.NewFilesClient(connection)); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply, err = protocol.NewClusterClient(connection).SubmitDriver(ctx, request)
		return err
	})
	if err == nil {
		c.bringSpare(ctx, files, leader)
	}
	return reply, err
}

// bringSpare brings files to the masters beside the leader, as far as they can be
// reached.
func (c *Client) bringSpare(ctx context.Context, files *Files, leader string) {
	ctx, cancel := context.WithTimeout(ctx, spareTimeout)
	defer cancel()
	var bringing sync.WaitGroup
	defer bringing.Wait()
	for _, master := range c.masters.All() {
		if master == leader {
			continue
		}
		bringing.Go(func() {
			if connection, err := c.masters.Connection(master); err == nil {
				_ = files.bring(ctx, protocol.NewFilesClient(connection)) // the leader has them
			}
		})
	}
}

// Driver tells of a driver.
func (c *Client) Driver(ctx context.Context, id string) (reply *protocol.DriverReply, err error) {
	err = c.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) (err error) {
		reply, err = cluster.DriverStatus(ctx, &protocol.DriverRequest{DriverId: id})
		return err
	})
	return reply, err
}

// KillDriver orders a driver's end, and returns before it has ended.
func (c *Client) KillDriver(ctx context.Context, id string) (reply *protocol.DriverReply, err error) {
	err = c.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) (err error) {
		reply, err = cluster.KillDriver(ctx, &protocol.DriverRequest{DriverId: id})
		return err
	})
	return reply, err
}

// KillApplication ends an application.
func (c *Client) KillApplication(ctx context.Context, id string) error {
	return c.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		_, err := cluster.KillApplication(ctx, &protocol.ApplicationRequest{ApplicationId: id})
		return err
	})
}

// Decommission has the workers with the ids take nothing new, and end once what
// they run has ended. It returns once the master has noted it; ids of which there
// is no worker are passed over.
func (c *Client) Decommission(ctx context.Context, workers []string) error {
	return c.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		_, err := cluster.DecommissionWorkers(ctx, &protocol.DecommissionRequest{WorkerIds: workers})
		return err
	})
}

// Status is what the cluster runs and ran, as JSON (cluster.Status of package
// standalone/master/cluster).
func (c *Client) Status(ctx context.Context) (encoded []byte, err error) {
	err = c.ask(ctx, func(ctx context.Context, cluster protocol.ClusterClient) error {
		reply, err := cluster.Status(ctx, &protocol.StatusRequest{})
		if err != nil {
			return err
		}
		encoded = reply.GetJson()
		return refuseStandby(encoded)
	})
	return encoded, err
}

// refuseStandby is the error of a status that is not the leader's: standbys
// answer too, and know nothing.
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

// ask calls the master that leads.
func (c *Client) ask(ctx context.Context, call func(ctx context.Context, cluster protocol.ClusterClient) error) error {
	return c.call(ctx, func(ctx context.Context, _ string, connection *grpc.ClientConn) error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return call(ctx, protocol.NewClusterClient(connection))
	})
}

// call has the master that leads do something: it goes from one to the next, the
// last leader first, until one does it or refuses it for good.
func (c *Client) call(ctx context.Context, do func(ctx context.Context, master string, connection *grpc.ClientConn) error) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var problems []refusal
		answered := false
		for tried := map[string]bool{}; ; {
			master, more := c.untried(tried)
			if !more {
				break
			}
			tried[master] = true
			err := c.callOne(ctx, master, do)
			if err == nil {
				c.masters.Prefer(master)
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			leader, standby := protocol.LeaderOf(err)
			var unreadable *UnreadableError
			switch {
			case errors.As(err, &unreadable):
				return err
			case standby:
				answered = true
				c.masters.Learn(leader)
				c.masters.Prefer(leader)
			case isFinal(err):
				return refusal{master, err}.explain()
			}
			problems = append(problems, refusal{master, err})
		}
		patience := anyPatience
		if answered {
			patience = leaderPatience
		}
		if waited := time.Since(began); waited >= patience || allDistrust(problems) {
			return fmt.Errorf("no master leads that can be reached: %w", explainAll(problems))
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			return context.Cause(ctx)
		}
	}
}

// untried is the next master of a round.
func (c *Client) untried(tried map[string]bool) (string, bool) {
	for _, master := range c.masters.All() {
		if !tried[master] {
			return master, true
		}
	}
	return "", false
}

func (c *Client) callOne(ctx context.Context, master string, do func(ctx context.Context, master string, connection *grpc.ClientConn) error) error {
	connection, err := c.masters.Connection(master)
	if err != nil {
		return err
	}
	return do(ctx, master, connection)
}
