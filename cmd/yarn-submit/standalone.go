package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	standalone "github.com/bobbin-yarn/bobbin/standalone/client"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// isStandalone tells whether the settings name masters of a standalone cluster.
func isStandalone(settings *config.Config) bool {
	return strings.HasPrefix(config.Master.In(settings), "bobbin://")
}

// localCluster is a standalone cluster on this machine that lives as long as its
// one application.
var localCluster = regexp.MustCompile(`^local-cluster\[.*\]$`)

func isLocalCluster(settings *config.Config) bool {
	return localCluster.MatchString(config.Master.In(settings))
}

// submitStandalone is submit for masters of standalone clusters.
func submitStandalone(ctx context.Context, t terminal, s submission) (*client.Report, error) {
	if isLocalCluster(s.settings) || config.ClientMode(s.settings) {
		if key := config.IdempotencyKey; key.In(s.settings) != "" {
			return nil, client.Usage(fmt.Errorf("%s (from %s) is for cluster mode: nobody else can follow a driver in this process",
				key.Name(), s.settings.Source(key.Name())))
		}
		return nil, driveStandalone(t, s) // it does not return where it succeeds
	}
	cluster, err := standalone.Connect(s.settings, t.logger(s.verbose))
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	job := s.job(t)
	defer s.stream(ctx, t, cluster, &job)()
	report, err := cluster.Submit(ctx, job)
	if s.json && report != nil {
		err = errors.Join(err, t.printJSON(report))
	}
	return report, err
}

// driveStandalone puts the program in this process's place: its driver function
// runs here, with executors of the cluster.
func driveStandalone(t terminal, s submission) error {
	if s.json {
		return client.Usage(errors.New("--json: with the driver in this process stdout is the program's; " +
			"ask for its application's report with yarn-submit status --json"))
	}
	if err := client.CheckDriver(s.program); err != nil {
		return err
	}
	environment, err := handOver(s.settings.Map())
	if err != nil {
		return client.Usage(err)
	}
	return replace(t, s.program, append([]string{s.program}, s.args...), environment)
}
