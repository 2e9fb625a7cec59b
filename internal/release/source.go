package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the source code from which a release is built.
type source struct {
	directory string    // root directory of the module
	version   string    // v1.2.3, or v1.2.3-4-g0123456 for a commit that is four commits after that tag
	revision  string    // the git commit; "" if unknown
	time      time.Time // time of the commit, in UTC and whole seconds; the only time in the release's files
	dirty     bool      // whether there are uncommitted changes
}

var (
	versionShape = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	beyondTag    = regexp.MustCompile(`^(.*)-(\d+)-(g[0-9a-f]+)$`)
)

// describe returns the source in a directory, with version, revision and time from git. version
// and epoch (seconds since 1970, as in SOURCE_DATE_EPOCH) override git's values unless they are
// empty. Both are required if there is no git repository, as in a source archive.
func describe(ctx context.Context, directory, version, epoch string) (source, error) {
	found := source{directory: directory, version: version}
	revision, err := git(ctx, directory, "rev-parse", "HEAD")
	if err != nil {
		if version == "" || epoch == "" {
			return found, fmt.Errorf("what is to be released is not known, as git does not tell (%w): name -version and set SOURCE_DATE_EPOCH", err)
		}
	} else if err := found.setFromGit(ctx, revision); err != nil {
		return found, err
	}
	if !versionShape.MatchString(found.version) {
		return found, fmt.Errorf("version %q: want v1.2.3 or v1.2.3-rc.1", found.version)
	}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || seconds < 0 {
			return found, fmt.Errorf("SOURCE_DATE_EPOCH=%q: want seconds since 1970, such as 1700000000", epoch)
		}
		found.time = time.Unix(seconds, 0).UTC()
	}
	return found, nil
}

// setFromGit sets revision, time and dirty from git. It also sets version if version is empty.
func (s *source) setFromGit(ctx context.Context, revision string) error {
	s.revision = revision
	committed, err := git(ctx, s.directory, "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(committed, 10, 64)
	if err != nil {
		return fmt.Errorf("git's time of %s: %w", revision, err)
	}
	s.time = time.Unix(seconds, 0).UTC()
	changes, err := git(ctx, s.directory, "status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return err
	}
	s.dirty = changes != ""
	if s.version != "" {
		return nil
	}
	s.version, err = git(ctx, s.directory, "describe", "--tags", "--match", "v[0-9]*", "--abbrev=12")
	if err != nil { // the repository has no version tag
		count, err := git(ctx, s.directory, "rev-list", "--count", "HEAD")
		if err != nil {
			return err
		}
		s.version = fmt.Sprintf("v0.0.0-%s-g%.12s", count, revision)
	}
	if s.dirty {
		s.version += "-dirty"
	}
	return nil
}

// number returns the version without the "v".
func (s source) number() string { return strings.TrimPrefix(s.version, "v") }

// debian returns the version in a form that Debian orders correctly: a release candidate
// precedes the release, and a build some commits after a tag follows the tag's release.
func (s source) debian() string {
	number, dirty := strings.CutSuffix(s.number(), "-dirty")
	after := ""
	if parts := beyondTag.FindStringSubmatch(number); parts != nil {
		number, after = parts[1], "+"+parts[2]+"."+parts[3]
	}
	number = strings.Replace(number, "-", "~", 1)
	if dirty {
		after += "+dirty"
	}
	return strings.ReplaceAll(number, "-", ".") + after
}

// git runs a git command in the directory and returns its output.
func git(ctx context.Context, directory string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = directory
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
