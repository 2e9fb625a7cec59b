package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	// cleanUpTimeout limits the work after the application's end or after an interruption.
	cleanUpTimeout = 30 * time.Second
	// answerNotice is how long the cluster may be silent before a message is printed.
	answerNotice = 3 * time.Second
	// pruneTimeout limits the removal of old cache entries.
	pruneTimeout = 30 * time.Second
)

// Job is a program to submit.
type Job struct {
	Program      string   // path of the executable
	IsOwnProgram bool     // Program is this process's executable, so another build of it may be uploaded (see the setting yarn.program)
	Args         []string // arguments of the program
	Settings     *config.Config
	Console      *Console
	// Submitted is called with the application's id when the cluster has accepted the application.
	// It may be nil.
	Submitted func(id string)
	// Driver starts the driver in client mode. It is called before files are uploaded, with the
	// application's id and the racks of the cluster's nodes by host. Driver is nil in cluster mode,
	// and in client mode with an unmanaged ApplicationMaster.
	Driver func(id string, racks map[string]string) (*Driver, error)
}

// Submit submits a program. If yarn.submit.waitAppCompletion is true, Submit waits until the
// application has ended. If the application did not succeed, Submit returns the report and a
// *Failure. If ctx ends first, Submit kills the application. It removes the staged files when the
// application has ended or could not be submitted.
func (c *Cluster) Submit(ctx context.Context, job Job) (*Report, error) {
	running, err := c.Start(ctx, job)
	if err != nil {
		return nil, err
	}
	defer running.Close()
	if !config.WaitAppCompletion.In(job.Settings) {
		return running.submittedReport(), running.limitLifetime(ctx)
	}
	return running.Wait(ctx)
}

// Running is a submitted application. The caller must call Close.
type Running struct {
	submission *submission
	request    *request // nil if the submission was replaced by an existing application with the same idempotency key
	files      *storage.Files
	pruned     <-chan struct{}
}

// Start submits a program. It does not wait for the end of the application; see [Running.Wait].
func (c *Cluster) Start(ctx context.Context, job Job) (*Running, error) {
	program, err := c.chooseProgram(ctx, job)
	if err != nil {
		return nil, err
	}
	if program.Interpreter != "" {
		job.Console.Warn("%s is linked dynamically (it needs %s): it runs only where the nodes have its libraries; CGO_ENABLED=0 go build makes a static one",
			job.Program, program.Interpreter)
	}
	all, err := localizedFiles(program, config.Files.In(job.Settings), config.Archives.In(job.Settings))
	if err != nil {
		return nil, err
	}
	submission := &submission{cluster: c, job: job}
	if key := config.IdempotencyKey.In(job.Settings); key != "" {
		if config.ClientMode(job.Settings) {
			return nil, UsageErrorf("an idempotency key (from %s) is for cluster mode: with a driver in this process nobody else can follow the application",
				job.Settings.Source(config.IdempotencyKey.Name()))
		}
		earlier, err := c.applicationForKey(ctx, key)
		if err != nil {
			return nil, err
		}
		if earlier != nil {
			submission.followExisting(earlier)
			return &Running{submission: submission}, nil
		}
	}
	running := &Running{submission: submission, files: c.OpenFileSystems()}
	submission.stager, err = newStager(running.files, job.Settings, c.user, job.Console)
	if err != nil {
		running.Close()
		return nil, UsageError(err)
	}
	if running.request, err = submission.run(ctx, program, all); err != nil {
		running.Close()
		return nil, err
	}
	if running.request != nil {
		running.pruned = submission.prune(ctx, running.request)
	}
	return running, nil
}

// ID returns the application's id.
func (r *Running) ID() string { return r.submission.id }

// Spec returns the description of the application that the ApplicationMaster receives.
func (r *Running) Spec() *launch.Spec { return r.request.spec() }

// Wait waits until the application has ended. It returns a *Failure if the application did not
// succeed. If ctx ends first, Wait kills the application.
func (r *Running) Wait(ctx context.Context) (*Report, error) { return r.submission.follow(ctx) }

// Close waits until old files of earlier submissions are removed, and closes the connections. It
// does not stop the application.
func (r *Running) Close() {
	if r.pruned != nil {
		<-r.pruned
	}
	if r.files == nil {
		return
	}
	if err := r.files.Close(); err != nil {
		r.submission.cluster.log.Debug("closing the connections to HDFS", "error", err)
	}
}

// limitLifetime makes the ResourceManager enforce the setting yarn.submit.timeout. It is called if
// no process waits for the end of the application.
func (r *Running) limitLifetime(ctx context.Context) error {
	timeout := config.SubmitTimeout.In(r.submission.job.Settings)
	if timeout <= 0 || r.submission.existing != nil {
		return nil
	}
	err := r.awaitSaved(ctx)
	if err == nil {
		err = r.submission.cluster.setLifetime(ctx, r.ID(), timeout)
	}
	if err != nil {
		return RefusedError(fmt.Errorf("%s runs without the timeout of %v, end it with yarn-submit kill %[1]s: %[3]w", r.ID(), timeout, err))
	}
	return nil
}

// awaitSaved waits until the ResourceManager has saved the application. Until then, the
// ResourceManager refuses to change the application's timeout (updateApplicationTimeouts in
// ClientRMService.java of Hadoop 3).
func (r *Running) awaitSaved(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	for {
		application, err := r.submission.cluster.apps.Application(ctx, r.ID())
		if err != nil {
			return err
		}
		if application.State != yarnrest.StateNew && application.State != yarnrest.StateNewSaving {
			return nil
		}
		if err := Sleep(ctx, firstInterval); err != nil {
			return err
		}
	}
}

// submittedReport returns the report of an application for whose end Submit does not wait.
func (r *Running) submittedReport() *Report {
	if existing := r.submission.existing; existing != nil {
		return newReport(existing, StateTimes{})
	}
	return &Report{
		ApplicationID: r.ID(), Name: r.request.name(), User: r.request.user, Queue: r.request.checked.queue,
		State: string(yarnrest.StateSubmitted), FinalStatus: string(yarnrest.StatusUndefined), Times: StateTimes{Submitted: time.Now()},
	}
}

type submission struct {
	cluster *Cluster
	job     Job
	stager  *stager
	id      string            // the application's id; "" before the application is submitted
	tokens  map[string]string // encoded delegation tokens for the application, by file system
	// existing is an existing application with the same idempotency key, which replaces the
	// submission; nil for none.
	existing *yarnrest.Application
}

// run submits the application. If an existing application with the same idempotency key replaces
// it, run returns nil.
func (s *submission) run(ctx context.Context, program *Program, all []localizedFile) (*request, error) {
	request, err := s.prepare(ctx, program, all)
	if err == nil {
		err = s.submit(ctx, request)
	}
	if s.existing != nil && err == nil {
		return nil, nil
	}
	if err != nil {
		s.abandon(ctx)
		err = s.cluster.identity.explainProxy(err)
		if ctx.Err() != nil && s.id == "" {
			err = FailedError(fmt.Errorf("%w; nothing was submitted", context.Cause(ctx)))
		}
		return nil, err
	}
	return request, nil
}

// prepare checks the program, the settings and the files, and then uploads the files.
func (s *submission) prepare(ctx context.Context, program *Program, all []localizedFile) (*request, error) {
	var files []stagedFile
	var checked *preflightAnswer
	secret, withKeytab, err := s.keytabInput()
	if err != nil {
		return nil, err
	}
	if withKeytab {
		all = append(all, secret)
	}
	poolsFile, err := pools.Content(s.job.Settings)
	if err != nil {
		return nil, UsageError(err)
	}
	s.job.Console.SetLive("asking the cluster")
	defer s.job.Console.SetLive("")
	notice := time.AfterFunc(answerNotice, func() {
		s.job.Console.Print("no answer yet, trying on: %s", strings.Join(s.cluster.addresses(), ", "))
	})
	defer notice.Stop()
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		files, err = s.stager.find(groupCtx, all)
		return err
	})
	group.Go(func() (err error) {
		checked, err = s.cluster.preflight(groupCtx, s.job.Settings, s.job.Console)
		return err
	})
	group.Go(func() error { return s.cluster.checkPlatform(groupCtx, program, s.job.Settings, s.job.Console) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	notice.Stop()
	if s.cluster.identity.Secure() && unmanaged(s.job.Settings) {
		return nil, UsageErrorf("%s=true: on a cluster with Kerberos the ResourceManager gives an unmanaged ApplicationMaster no token: leave this out", config.UnmanagedAM.Name())
	}
	uris := []string{s.stager.base}
	for _, file := range files {
		if file.remote {
			uris = append(uris, file.path)
		}
	}
	if s.tokens, err = s.cluster.tokens(ctx, s.stager.files, s.job.Settings, uris...); err != nil {
		return nil, err
	}
	if err := s.warnOfTokenEnd(); err != nil {
		return nil, err
	}
	var driver *Driver
	if s.job.Driver != nil {
		var err error
		if driver, err = s.job.Driver(checked.applicationID, checked.racks); err != nil {
			return nil, err
		}
	}
	resources, err := s.stager.upload(ctx, files, checked.applicationID)
	if err != nil {
		return nil, err
	}
	prepared := &request{
		settings: s.job.Settings, checked: checked, user: s.cluster.user, driver: driver,
		command: append([]string{"./" + program.Name}, s.job.Args...),
		pools:   string(poolsFile), resources: resources, hadoop: s.cluster.hadoop.Map(), tokens: s.tokens, keepTokens: s.cluster.identity.tokens != nil, staging: s.stager.staging, cacheDirs: cacheDirs(files, s.stager.cache()),
	}
	if last := len(resources) - 1; withKeytab {
		prepared.resources, prepared.keytab = resources[:last], &resources[last]
		prepared.principal = s.cluster.identity.kerberos.Principal()
	}
	return prepared, nil
}

// submit submits the application. If ctx ends during the request, submit still waits for the
// answer, because it must determine whether the application was submitted.
func (s *submission) submit(ctx context.Context, request *request) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if key := config.IdempotencyKey.In(s.job.Settings); key != "" {
		// Another application with the same key may have started during the upload.
		if earlier, err := s.cluster.applicationForKey(ctx, key); err != nil || earlier != nil {
			if err == nil {
				s.abandon(ctx)
				s.followExisting(earlier)
			}
			return err
		}
	}
	submitted, err := request.context()
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	s.id = submitted.ID
	if err = s.cluster.submitApplication(ctx, submitted); err == nil {
		if err = s.submitted(ctx, submitted); err == nil {
			return nil
		}
	} else if message := refusalMessage(err); message != "" {
		return RefusedError(fmt.Errorf("the ResourceManager refuses the application: %s: %w", explain(stateFailed, message).message, err))
	}
	// The cluster has accepted the application, or may have accepted it despite the error. Kill it,
	// because no process would wait for it.
	ctx, cancel := context.WithTimeout(ctx, cleanUpTimeout)
	defer cancel()
	if killing := s.cluster.killApplication(ctx, s.id, "its submission did not complete"); killing != nil {
		err = fmt.Errorf("%w; should the cluster have taken the application, stop it with yarn-submit kill %s", err, s.id)
	}
	return RefusedError(err)
}

// submitted prints that the application was submitted. If an earlier application with the same
// idempotency key is running, the submission waits for that application from then on.
func (s *submission) submitted(ctx context.Context, accepted *yarnrest.SubmissionContext) error {
	s.job.Console.Print("submitted %s to queue %s", s.id, accepted.Queue)
	if key := config.IdempotencyKey.In(s.job.Settings); key != "" {
		other, err := s.findEarlier(ctx, key)
		if err != nil {
			return err
		}
		if other != nil {
			s.followExisting(other)
			return nil
		}
	}
	if s.job.Submitted != nil {
		s.job.Submitted(s.id)
	}
	return nil
}

// follow waits until the application has ended. It kills the application if ctx ends or the timeout
// passes.
func (s *submission) follow(ctx context.Context) (*Report, error) {
	follower := s.cluster.newFollower(s.id, config.ReportInterval.In(s.job.Settings), s.job.Console)
	if s.existing != nil {
		follower.times = StateTimes{Submitted: s.existing.Started}
	}
	following, cancel := WithTimeout(ctx, config.SubmitTimeout.In(s.job.Settings))
	defer cancel()
	application, err := follower.untilEnd(following)
	if err != nil && following.Err() != nil {
		application, err = s.cluster.killFollowed(following, follower)
	}
	if err != nil {
		return nil, err // the application may still run; then its ApplicationMaster removes the staged files
	}
	s.cleanUp(ctx)
	return printEnd(application, follower.times, s.job.Console)
}

// abandon removes what the submission has left on the cluster if it has not become an application.
func (s *submission) abandon(ctx context.Context) {
	s.cleanUp(ctx)
	s.cancelTokens(ctx)
}

func (s *submission) cleanUp(ctx context.Context) {
	if s.stager == nil {
		return // another submission staged the files
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	if err := s.stager.remove(ctx); err != nil {
		s.job.Console.Warn("%v; remove it with hdfs dfs -rm -r", err)
	}
}

// prune starts to remove old files of earlier submissions in the background. It returns a channel
// that is closed when the removal has ended.
func (s *submission) prune(ctx context.Context, request *request) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, pruneTimeout)
		defer cancel()
		unused, err := s.cluster.pruneBefore(ctx, config.CacheMaxAge.In(s.job.Settings))
		if err == nil {
			err = s.stager.prune(ctx, unused, request.cacheDirs)
		}
		err = errors.Join(err, s.stager.pruneStaging(ctx, request.staging, s.cluster.hasEnded))
		if err != nil && ctx.Err() == nil {
			s.job.Console.Warn("%v", err)
		}
	}()
	return done
}
