//go:build integration

package acceptance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// assertNothingLeft checks that a finished application has no container, process or staged
// file.
func assertNothingLeft(t *testing.T, id string) {
	t.Helper()
	// A NodeManager ends the containers when the ResourceManager's heartbeat response says that
	// the application has finished.
	await(t, "the processes of "+id+" end", func(context.Context) bool { return len(processes(id)) == 0 })
	await(t, "the containers of "+id+" end", func(ctx context.Context) bool { return len(liveContainers(ctx, t, id)) == 0 })
	assert.True(t, application(t, id).State.Ended())
	assertNotInHDFS(t, home(t)+"/.bobbin/staging/"+id)
}

// liveContainers returns the containers of an application that NodeManagers report as not done.
func liveContainers(ctx context.Context, t *testing.T, id string) []string {
	t.Helper()
	_, number, _ := strings.Cut(id, "_")
	var live []string
	for _, node := range shared.hadoop.Nodes() {
		manager, err := shared.rest.NodeManager(node.HTTPAddress())
		require.NoError(t, err)
		containers, err := manager.Containers(ctx)
		require.NoError(t, err)
		for _, container := range containers {
			if strings.Contains(container.ID, "_"+number+"_") && container.State != "DONE" {
				live = append(live, container.ID+" "+container.State)
			}
		}
	}
	return live
}

func assertNotInHDFS(t *testing.T, path string) {
	t.Helper()
	_, err := shared.files.Stat(t.Context(), path)
	assert.ErrorIs(t, err, fs.ErrNotExist, path)
}

// home returns the HDFS home directory of the user who runs the tests.
func home(t *testing.T) string {
	t.Helper()
	return qualified(t, "/user/"+currentUser(t))
}

func currentUser(t *testing.T) string {
	t.Helper()
	current, err := user.Current()
	require.NoError(t, err)
	return current.Username
}

// tree returns all files and directories below a directory in HDFS.
func tree(ctx context.Context, files *storage.Files, directory string) ([]storage.Info, error) {
	entries, err := files.List(ctx, directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []storage.Info
	for _, entry := range entries {
		all = append(all, entry)
		if entry.Dir {
			below, err := tree(ctx, files, entry.Path)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// cachePaths matches the paths that may remain in HDFS: cached uploads, in directories named by
// their SHA-256, and event logs.
var cachePaths = regexp.MustCompile(`/\.bobbin(/cache(/[0-9a-f]{64}(/[^./][^/]*)?)?|/history(/[^/]*\.jsonl\.zst)?)?$`)

// leftovers returns an error if files or processes of any test are left on the cluster.
func (s *suite) leftovers() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	// Wait, because an application that is ending may not have removed its staged files yet.
	ended := s.awaitNoPrograms(ctx)
	entries, err := tree(ctx, s.files, "/user")
	if err != nil {
		return err
	}
	kept, err := s.keptPaths(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if strings.Contains(entry.Path, "/.bobbin") && !cachePaths.MatchString(entry.Path) && !kept.MatchString(entry.Path) {
			errs = append(errs, fmt.Errorf("left in HDFS: %s", entry.Path))
		}
	}
	running, err := s.rest.Applications(ctx, yarnrest.Filter{States: []yarnrest.ApplicationState{
		yarnrest.StateNew, yarnrest.StateNewSaving, yarnrest.StateSubmitted, yarnrest.StateAccepted, yarnrest.StateRunning,
	}})
	for _, application := range running {
		errs = append(errs, fmt.Errorf("%s (%s) is still %s", application.ID, application.Name, application.State))
	}
	return errors.Join(append(errs, err, ended)...)
}

// keptPaths returns a pattern of the paths of results that may remain in HDFS: those of
// successful applications with an idempotency key. A later run with the same key returns these
// results.
func (s *suite) keptPaths(ctx context.Context) (*regexp.Regexp, error) {
	succeeded, err := s.rest.Applications(ctx, yarnrest.Filter{States: []yarnrest.ApplicationState{yarnrest.StateFinished}})
	ids := []string{"none"}
	for _, application := range succeeded {
		hasKey := slices.ContainsFunc(application.Tags, func(tag string) bool { return strings.HasPrefix(tag, "bobbin-key") })
		if hasKey && application.FinalStatus == yarnrest.StatusSucceeded {
			ids = append(ids, application.ID)
		}
	}
	return regexp.MustCompile(`/\.bobbin/results(/(` + strings.Join(ids, "|") + `)(/.*)?)?$`), err
}

// awaitNoPrograms waits until no process runs a file that a NodeManager has localized.
func (s *suite) awaitNoPrograms(ctx context.Context) error {
	for {
		left := ""
		executables, err := filepath.Glob("/proc/[0-9]*/exe")
		if err != nil {
			return err
		}
		for _, link := range executables {
			path, _ := os.Readlink(link) // fails if the process has ended
			for _, node := range s.hadoop.Nodes() {
				if strings.HasPrefix(path, node.LocalDir+"/") {
					left = link + " is " + path
				}
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-time.After(time.Second / 10):
		case <-ctx.Done():
			return fmt.Errorf("a process is left: %s", left)
		}
	}
}
