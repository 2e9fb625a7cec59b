package role

import (
	"context"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// driverOf returns a function that starts the driver in an ApplicationMaster's process.
func driverOf(function func(ctx context.Context) error) func(*am.Attempt) (*am.Driver, error) {
	return func(attempt *am.Attempt) (*am.Driver, error) {
		a, err := startDriver(driverOptions{
			id:       attempt.ID.Application.String(),
			attempt:  int(attempt.ID.Attempt),
			name:     attempt.Spec.Name,
			onYARN:   true,
			user:     attempt.Spec.User,
			settings: attempt.Settings,
			hadoop:   attempt.Hadoop,
			files:    attempt.Files,
			pools:    attempt.Spec.Pools,
			host:     attempt.Host,
			bind:     attempt.Bind,
			racks:    attempt.Spec.Racks,
			logger:   attempt.Logger,
		})
		if err != nil {
			return nil, err
		}
		return &am.Driver{Endpoint: driverEndpoint{a.Driver, a}, Address: a.address, Pass: a.pass, SetCredentials: a.Driver.SetCredentials, Events: a.Driver.Events(), Snapshot: a.Driver.Events().Snapshot, Costs: a.costs, Run: func(ctx context.Context) error {
			return a.run(ctx, ctx, config.AMWaitTime.In(a.Settings), function)
		}}, nil
	}
}

// driverEndpoint is the driver in the process of an ApplicationMaster.
type driverEndpoint struct {
	*driver.Driver
	application *Application
}

// Stop stops the driver and completes the event log.
func (e driverEndpoint) Stop(ctx context.Context) error { return e.application.stop(ctx) }
