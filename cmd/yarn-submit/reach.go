package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/client"
)

const (
	// hiddenReach is the hidden command that starts the driver of yarn-submit doctor --from-node.
	hiddenReach = "__reach"
	// reachTimeout limits each connection attempt of that driver.
	reachTimeout = 10 * time.Second
)

// reachTargets are the targets to which reachTask tries to connect from an executor's container.
type reachTargets struct {
	Servers   []reachedServer `json:"servers"`
	Directory string          `json:"directory"` // URI of an HDFS directory in which reachTask writes, reads and removes a file
	Client    string          `json:"client"`    // host:port at which yarn-submit doctor listens; "" if it does not listen
}

// reachedServer is a server that must accept a connection at one of its addresses (host:port).
type reachedServer struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
}

// reachReport is the result of reachTask.
type reachReport struct {
	Host     string
	Problems []string
}

// reachTask tries in a container to connect to the targets. Its result does not contain whether the
// connection to yarn-submit doctor succeeded, because yarn-submit doctor accepts that connection
// itself.
var reachTask = bobbin.Func("doctor", func(t *bobbin.Task, what reachTargets) (reachReport, error) {
	problems := make([]error, len(what.Servers)+1)
	var trying sync.WaitGroup
	for i, server := range what.Servers {
		trying.Go(func() { problems[i] = server.connect(t) })
	}
	trying.Go(func() {
		ctx, cancel := context.WithTimeout(t, 2*reachTimeout)
		defer cancel()
		if err := client.CopyBlock(ctx, t.Files(), what.Directory); err != nil {
			problems[len(what.Servers)] = fmt.Errorf("a block in HDFS: %w", err)
		}
	})
	if what.Client != "" {
		trying.Go(func() { _ = connect(t, what.Client) })
	}
	trying.Wait()
	found := reachReport{Host: t.Host()}
	for _, problem := range problems {
		if problem != nil {
			found.Problems = append(found.Problems, problem.Error())
		}
	}
	return found, nil
})

func (s reachedServer) connect(ctx context.Context) error {
	var problems []string
	for _, address := range s.Addresses {
		err := connect(ctx, address)
		if err == nil {
			return nil
		}
		problems = append(problems, err.Error())
	}
	return fmt.Errorf("the %s: %s", s.Name, strings.Join(problems, ", "))
}

func connect(ctx context.Context, address string) error {
	connection, err := (&net.Dialer{Timeout: reachTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return connection.Close()
}

// newHiddenReach returns the hidden command that starts the driver. The driver runs reachTask in
// one container.
func newHiddenReach() *cobra.Command {
	return &cobra.Command{Use: hiddenReach, Hidden: true, Args: cobra.ExactArgs(1), Run: func(_ *cobra.Command, args []string) {
		bobbin.Main(func(ctx context.Context) error {
			var what reachTargets
			if err := json.Unmarshal([]byte(args[0]), &what); err != nil {
				return err
			}
			session, err := bobbin.NewSession(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			found, err := reachTask.Run(ctx, session, []reachTargets{what}, bobbin.MaxFailures(1))
			if err == nil && len(found[0].Problems) > 0 {
				err = fmt.Errorf("a container on %s does not reach %s", found[0].Host, strings.Join(found[0].Problems, "; "))
			}
			return err
		})
	}}
}
