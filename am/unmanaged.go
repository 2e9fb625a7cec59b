package am

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

const (
	// minTokenInterval and maxTokenInterval are the minimum and the maximum time between two
	// requests for the AMRMToken.
	minTokenInterval = 50 * time.Millisecond
	maxTokenInterval = time.Second
)

// Unmanaged is an ApplicationMaster that runs in the submitting process. YARN calls it an unmanaged
// ApplicationMaster.
type Unmanaged struct {
	Application string       // id of the application
	Spec        *launch.Spec // specification of the submitted application
	Host        string       // name by which the cluster's nodes connect to this machine
	Bind        string       // host name or IP address on which the servers of the attempt listen
	Logger      *slog.Logger
}

// Run waits until the attempt may register, runs it with the driver that newDriver returns, and
// unregisters the application. The error is the reason why the application failed. If ctx ends, Run
// does not unregister the application, and the caller must kill the application.
func (u Unmanaged) Run(ctx context.Context, newDriver func(*Attempt) (*Driver, error)) error {
	settings, err := config.FromSubmission(u.Spec.Properties, u.Spec.Origins)
	if err != nil {
		return err
	}
	hadoop := conf.FromMap(u.Spec.Hadoop)
	id, token, err := u.awaitToken(ctx, hadoop)
	if err != nil {
		return err
	}
	credentials := &security.Credentials{}
	credentials.SetToken("", token)
	_, err = serve(ctx, &Attempt{
		ID: id, Host: u.Host, Bind: u.Bind, Spec: u.Spec, Settings: settings, Hadoop: hadoop, Logger: u.Logger, credentials: credentials,
	}, newDriver)
	return err
}

// awaitToken waits for the application's AMRMToken, which the ResourceManager creates when the
// scheduler has accepted the application.
func (u Unmanaged) awaitToken(ctx context.Context, hadoop *conf.Config) (yarn.AttemptID, security.Token, error) {
	fail := func(err error) (yarn.AttemptID, security.Token, error) {
		return yarn.AttemptID{}, security.Token{}, fmt.Errorf("the token of the unmanaged ApplicationMaster: %w", err)
	}
	id, err := yarn.ParseApplicationID(u.Application)
	if err != nil {
		return fail(err)
	}
	addresses, err := hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return fail(err)
	}
	manager := yarn.NewRMClient(addresses, security.UserGroup{Effective: u.Spec.User}, yarn.ClientOptions{Logger: u.Logger})
	defer func() { _ = manager.Close() }()
	for pause := minTokenInterval; ; pause = min(2*pause, maxTokenInterval) {
		report, err := manager.ApplicationReport(ctx, id)
		switch {
		case ctx.Err() != nil:
			return fail(context.Cause(ctx))
		case err != nil:
			return fail(err)
		case report.AMRMToken != nil:
			return report.Attempt, *report.AMRMToken, nil
		case report.State.Ended():
			return fail(errors.New("the application is " + report.State.String() + ": " + report.Diagnostics))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fail(context.Cause(ctx))
		}
	}
}
