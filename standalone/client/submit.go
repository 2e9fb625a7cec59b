package client

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/pools"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// Names of the files in a driver's directory that the driver passes to its executors.
const (
	shippedPools   = ".pools.xml"
	shippedArchive = ".archive-" // prefix of the names of packed archives
)

// Submit submits a program as a driver and, unless yarn.submit.waitAppCompletion is off, waits
// until the driver has ended. If the driver did not succeed, Submit returns the report and a
// *client.Failure. If ctx ends first, Submit kills the driver.
func (s *Cluster) Submit(ctx context.Context, job client.Job) (*client.Report, error) {
	program, err := client.CheckProgram(job.Program, config.Platform.In(job.Settings))
	if err != nil {
		return nil, err
	}
	if timeout := config.SubmitTimeout; timeout.In(job.Settings) > 0 && !config.WaitAppCompletion.In(job.Settings) {
		return nil, client.UsageErrorf("%s (from %s): nobody would end the driver, as yarn-submit does not follow it: a standalone cluster bounds no driver's time",
			timeout.Name(), job.Settings.Source(timeout.Name()))
	}
	if _, err := pools.Content(job.Settings); err != nil {
		return nil, client.UsageError(err)
	}
	description, files, err := s.driver(program, job)
	if err != nil {
		return nil, err
	}
	description.Credentials, err = s.tokens(ctx, job)
	if err != nil {
		return nil, err
	}
	job.Console.SetLive("asking the cluster")
	reply, err := s.masters.Submit(ctx, description, files)
	job.Console.SetLive("")
	if err != nil {
		return nil, refusedError(ctx, err)
	}
	if reply.GetEarlier() {
		job.Console.Print("%s was submitted with the same idempotency key at %s, and is %s: following it",
			reply.GetDriverId(), time.Unix(0, reply.GetSubmitted()).Format(time.DateTime), driverReport(reply, s.user).State)
	} else {
		job.Console.Print("submitted %s as %s", description.GetName(), reply.GetDriverId())
	}
	if job.Submitted != nil {
		job.Submitted(reply.GetDriverId())
	}
	if !config.WaitAppCompletion.In(job.Settings) {
		return driverReport(reply, s.user), nil
	}
	return s.Wait(ctx, reply.GetDriverId(), client.WaitOptions{Console: job.Console, Timeout: config.SubmitTimeout.In(job.Settings)})
}

// tokens returns the delegation tokens for a job's driver, or nil if the driver needs none. It
// prints a warning if the tokens may expire before the driver ends.
func (s *Cluster) tokens(ctx context.Context, job client.Job) ([]byte, error) {
	tokens, end, err := client.DriverTokens(ctx, job.Settings, s.log)
	timeout := config.SubmitTimeout.In(job.Settings)
	if !end.IsZero() && (timeout == 0 || time.Now().Add(timeout).After(end)) {
		job.Console.Warn("the driver can use HDFS until %s, when its delegation tokens end: if it may run longer, submit with --principal and "+
			"--keytab, and have the keytab at the same path on the workers' hosts", end.Format(time.DateTime))
	}
	return tokens, err
}

// driver returns the description of a job's driver, and the files to upload.
func (s *Cluster) driver(program *client.Program, job client.Job) (*protocol.DriverDescription, *application.HashedFiles, error) {
	named, err := client.LocalFiles(program.Path, job.Settings)
	if err != nil {
		return nil, nil, err
	}
	local, properties := toDriver(program, named, job.Settings)
	files, err := application.HashFiles(local)
	if err != nil {
		return nil, nil, client.UsageError(err)
	}
	name := config.AppName.In(job.Settings)
	if name == "" {
		name = program.Name
	}
	size := profile.Driver(job.Settings)
	return &protocol.DriverDescription{
		Name: name, User: s.user, Arguments: job.Args, Environment: config.AMEnv.In(job.Settings), Properties: properties,
		Cores: uint32(size.Cores), Memory: int64(size.Container()),
		Resources: config.TaskResourceNames(job.Settings, size.Resources), Supervise: config.Supervise.In(job.Settings),
		IdempotencyKey: config.IdempotencyKey.In(job.Settings),
	}, files, nil
}

// toDriver returns the files that a driver needs, beginning with the program, and settings in
// which the files have their names on the worker.
func toDriver(program *client.Program, named []client.LocalFile, settings *config.Config) ([]application.LocalFile, map[string]string) {
	properties := application.Properties(settings)
	delete(properties, config.Master.Name())
	delete(properties, config.DeployMode.Name())
	local := []application.LocalFile{{Path: program.Path, Name: program.Name, Executable: true}}
	var files, archives []string
	for _, file := range named {
		local = append(local, application.LocalFile(file))
		if !file.Archive {
			files = append(files, file.Name)
			continue
		}
		// The driver needs the archive twice: unpacked for itself, and packed for its
		// executors.
		packed := shippedArchive + file.Name + "-" + filepath.Base(file.Path)
		local = append(local, application.LocalFile{Path: file.Path, Name: packed})
		archives = append(archives, packed+"#"+file.Name)
	}
	for key, names := range map[string][]string{config.Files.Name(): files, config.Archives.Name(): archives} {
		delete(properties, key)
		if len(names) > 0 {
			properties[key] = strings.Join(names, ",")
		}
	}
	if path := config.AllocationFile.In(settings); path != "" {
		local = append(local, application.LocalFile{Path: path, Name: shippedPools})
		properties[config.AllocationFile.Name()] = shippedPools
	}
	return local, properties
}
