package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// stager uploads an application's files to HDFS. Large files go into a cache that all submissions
// of the user share. Small files go into the application's own directory in staging, which is
// removed when the application has ended. If yarn.preserveStagingFiles is set, small files instead
// go into the application's own directory in preserved, which is never removed.
//
//	<base>/cache/<sha-256>/<name>
//	<base>/staging/<application id>/<name>
//	<base>/preserved/<application id>/<name>
type stager struct {
	files       *storage.Files
	base        string      // URI of the user's directory for bobbin's files
	user        string      // user who must own base
	minSize     config.Size // minimum size in bytes of files in the cache
	keepStaging bool        // put small files into <base>/preserved instead of <base>/staging
	replication int         // replication factor of uploaded files; 0 for the cluster's default
	console     *Console
	staging     string // URI of the application's directory in <base>/staging, which the method remove removes; "" for none
}

// newStager returns a stager for the directory in yarn.stagingDir; the default is the user's home
// directory in HDFS.
func newStager(files *storage.Files, settings *config.Config, user string, console *Console) (*stager, error) {
	home := path.Join("/user", user)
	if dir := config.StagingDir.In(settings); dir != "" {
		home = strings.TrimRight(dir, "/") + "/" + user
	}
	base, err := files.Qualify(home + "/.bobbin")
	if err != nil {
		return nil, fmt.Errorf("the staging directory: %w", err)
	}
	return &stager{
		files: files, base: base, user: user, console: console, minSize: config.CacheMinSize.In(settings),
		keepStaging: config.PreserveStaging.In(settings), replication: config.StagingReplication.In(settings),
	}, nil
}

// StagingDirectory returns the URI of the user's directory for bobbin's files.
func (c *Cluster) StagingDirectory(settings *config.Config) (string, error) {
	files := c.OpenFileSystems()
	defer func() { _ = files.Close() }()
	stager, err := newStager(files, settings, c.user, NewConsole(io.Discard))
	if err != nil {
		return "", err
	}
	return stager.base, nil
}

// stagedFile is an input file and its location in HDFS.
type stagedFile struct {
	localizedFile
	dir        string       // URI of the HDFS directory; "" for a small file until assignTargets sets it
	base       string       // name of the file in dir
	info       storage.Info // status of the file in HDFS; set when isUploaded is set
	isUploaded bool         // the file is in HDFS
}

func (s *stagedFile) target() string { return s.dir + "/" + s.base }

// find returns the location of each input, and whether the input is already in HDFS. It uploads
// nothing, but updates the times of last use of cached files.
func (s *stager) find(ctx context.Context, inputs []localizedFile) ([]stagedFile, error) {
	found := make([]stagedFile, len(inputs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	group.Go(func() error {
		if err := s.checkBase(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return s.stagingError(err)
		}
		return nil
	})
	for i, in := range inputs {
		group.Go(func() (err error) {
			found[i], err = s.findInput(ctx, in)
			return err
		})
	}
	return found, group.Wait()
}

func (s *stager) findInput(ctx context.Context, in localizedFile) (stagedFile, error) {
	if in.remote {
		return s.findRemote(ctx, in)
	}
	if in.secret || in.size < int64(s.minSize) {
		return stagedFile{localizedFile: in}, nil
	}
	hash, err := hashFile(ctx, in.path)
	if err != nil {
		return stagedFile{}, UsageError(err)
	}
	entry := stagedFile{localizedFile: in, dir: s.cache() + "/" + hash, base: safeName(in.path)}
	if err := s.findCached(ctx, &entry); err != nil {
		return stagedFile{}, s.stagingError(err)
	}
	return entry, nil
}

// findRemote returns the location of an input with an hdfs:// URI, which is not copied.
func (s *stager) findRemote(ctx context.Context, in localizedFile) (stagedFile, error) {
	info, err := s.files.Stat(ctx, in.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stagedFile{}, UsageErrorf("%s does not exist", in.path)
	case err != nil:
		return stagedFile{}, RefusedError(err)
	case info.Dir:
		return stagedFile{}, UsageErrorf("%s is a directory; name a file, or an archive for --archives", in.path)
	}
	return stagedFile{localizedFile: in, info: info, isUploaded: true}, nil
}

// upload uploads the files that are not in HDFS, and returns all files as resources to localize. If
// upload fails, the caller must call remove.
func (s *stager) upload(ctx context.Context, files []stagedFile, application string) ([]launch.LocalResource, error) {
	if err := s.assignTargets(ctx, files, application); err != nil {
		return nil, s.stagingError(err)
	}
	uploads := map[string]*stagedFile{} // by target, so that a file with two names is uploaded once
	for i := range files {
		switch file := &files[i]; {
		case file.remote:
		case file.isUploaded:
			s.console.Print("reused %s (%s), uploaded before", file.name, bytesText(file.size))
		case uploads[file.target()] == nil:
			uploads[file.target()] = file
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, file := range uploads {
		group.Go(func() error { return s.uploadOne(groupCtx, file, application) })
	}
	if err := group.Wait(); err != nil {
		return nil, s.stagingError(err)
	}
	resources := make([]launch.LocalResource, len(files))
	for i, file := range files {
		if !file.isUploaded {
			file.info = uploads[file.target()].info
		}
		location, err := escaped(file.info.Path)
		if err != nil {
			return nil, err
		}
		resources[i] = launch.LocalResource{
			Name: file.name, URL: location, Size: file.info.Size, Timestamp: file.info.ModTime.UnixMilli(), Archive: file.archive,
		}
	}
	return resources, nil
}

// stagingError returns err with the exit status ExitCluster, and adds to its text that files were
// being staged. It returns usage errors unchanged.
func (s *stager) stagingError(err error) error {
	if ExitCode(err) == ExitUsage {
		return err
	}
	return RefusedError(fmt.Errorf("staging files in HDFS: %w", err))
}

// assignTargets sets the locations of small files and creates their directories.
func (s *stager) assignTargets(ctx context.Context, files []stagedFile, application string) error {
	if !slices.ContainsFunc(files, func(file stagedFile) bool { return !file.isUploaded }) {
		return nil
	}
	if err := s.makeBase(ctx); err != nil {
		return err
	}
	// Files below preserved are never removed.
	staging := s.base + "/staging/" + application
	own := staging
	if s.keepStaging {
		own = s.base + "/preserved/" + application
	}
	taken := map[string]bool{}
	for i := range files {
		if files[i].isUploaded || files[i].dir != "" {
			continue
		}
		if files[i].secret {
			files[i].dir, files[i].base = staging, files[i].name
			s.staging = staging
			continue
		}
		name := safeName(files[i].path)
		if taken[name] {
			name = fmt.Sprintf("%d-%s", i, name)
		}
		taken[name] = true
		files[i].dir, files[i].base = own, name
	}
	switch {
	case len(taken) == 0:
	case s.keepStaging:
		s.console.Print("uploaded files stay in %s", own)
		if err := s.files.MkdirAll(ctx, own, 0o700); err != nil {
			return err
		}
	default:
		s.staging = staging
	}
	if s.staging == "" {
		return nil
	}
	return s.files.MkdirAll(ctx, s.staging, 0o700)
}

// makeBase creates the user's directory for bobbin's files.
func (s *stager) makeBase(ctx context.Context) error {
	home := s.base[:strings.LastIndexByte(s.base, '/')]
	// If /user is missing, the first user creates it for all users.
	err := s.files.MkdirAll(ctx, home, 0o755)
	if err == nil {
		err = s.files.MkdirAll(ctx, s.base, 0o700)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; have %s made for user %s, or name another place with --conf yarn.stagingDir=hdfs:///…", err, home, s.user)
	}
	if err != nil {
		return err
	}
	return s.checkBase(ctx)
}

// checkBase fails if another user owns or can write to the user's directory for bobbin's files,
// because the user's containers execute files in it. It fails with fs.ErrNotExist if the directory
// does not exist. On a local disk, checkBase accepts any owner, because local user names may differ
// from the cluster's.
func (s *stager) checkBase(ctx context.Context) error {
	info, err := s.files.Stat(ctx, s.base)
	if err != nil {
		return err
	}
	local := strings.HasPrefix(s.base, "file:")
	if !local && info.Owner != "" && info.Owner != s.user || info.Mode.Perm()&0o022 != 0 {
		return fmt.Errorf("the staging directory %s belongs to %s with mode %04o, so others could change what runs as %s: "+
			"have it belong to %[4]s with mode 0700, or name another place with --conf yarn.stagingDir=hdfs:///…",
			s.base, info.Owner, info.Mode.Perm(), s.user)
	}
	return nil
}

// uploadOne writes the file under a temporary name and then renames it, so that readers never see
// an incomplete file. If two submissions upload the same file, the first complete upload remains.
func (s *stager) uploadOne(ctx context.Context, file *stagedFile, application string) error {
	began := time.Now()
	part := file.dir + "/." + file.base + "." + application + partSuffix
	if err := s.copyTo(ctx, file.localizedFile, part); err != nil {
		return err
	}
	err := s.files.Rename(ctx, part, file.target())
	if errors.Is(err, fs.ErrExist) {
		err = s.files.Remove(ctx, part)
	}
	if err != nil {
		return err
	}
	if file.info, err = s.files.Stat(ctx, file.target()); err != nil {
		return err
	}
	s.console.Print("uploaded %s (%s) in %s", file.name, bytesText(file.info.Size), Seconds(time.Since(began)))
	return nil
}

// partSuffix is the suffix of the names of incomplete uploads.
const partSuffix = ".part"

func (s *stager) copyTo(ctx context.Context, in localizedFile, target string) error {
	file, err := os.Open(in.path)
	if err != nil {
		return UsageError(err)
	}
	defer file.Close()
	perm := fs.FileMode(0o500)
	if in.secret {
		perm = 0o600
	}
	writer, err := s.files.Create(ctx, target, storage.Perm(perm), storage.Replication(s.replication))
	if err != nil {
		return err
	}
	s.console.SetLive("uploading " + in.name)
	meter := &uploadProgress{console: s.console, name: in.name, total: in.size}
	written, err := io.Copy(io.MultiWriter(writer, meter), file)
	s.console.SetLive("")
	if err == nil && written != in.size {
		err = UsageErrorf("%s changed while it was uploaded: it had %d bytes, now %d; submit again when it is complete", in.path, in.size, written)
	}
	if err != nil {
		return errors.Join(err, writer.Abort())
	}
	return writer.Close()
}

type uploadProgress struct {
	console     *Console
	name        string
	done, total int64
	shown       time.Time
}

// progressPause is the minimum time between two updates of the live line.
const progressPause = 100 * time.Millisecond

func (m *uploadProgress) Write(p []byte) (int, error) {
	m.done += int64(len(p))
	if now := time.Now(); m.console.isLive() && m.total > 0 && now.Sub(m.shown) >= progressPause {
		m.shown = now
		const width = 30
		m.console.SetLive(fmt.Sprintf("uploading %s %s %s of %s", m.name,
			bar(int(m.done*width/m.total), width, width), bytesText(m.done), bytesText(m.total)))
	}
	return len(p), nil
}

func (s *stager) remove(ctx context.Context) error {
	if s.staging == "" {
		return nil
	}
	if err := s.files.RemoveAll(ctx, s.staging); err != nil {
		return fmt.Errorf("removing the staging directory: %w", err)
	}
	s.staging = ""
	// This fails if another application has a directory in staging.
	_ = s.files.Remove(ctx, s.base+"/staging")
	return nil
}

// hashFile returns the SHA-256 of a file in hexadecimal form.
func hashFile(ctx context.Context, name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	buffer := make([]byte, 1<<20)
	for ctx.Err() == nil {
		n, err := file.Read(buffer)
		hash.Write(buffer[:n])
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", context.Cause(ctx)
}

// safeName returns the file name of a local path. It replaces characters that are special in a
// shell or a URL. It keeps the suffix, by which NodeManagers recognize archives.
func safeName(local string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("._-+", r):
			return r
		}
		return '_'
	}, path.Base(local))
}

// escaped escapes special characters, such as spaces and percent signs, in a URI of package
// storage. Package storage does not escape them.
func escaped(uri string) (string, error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return "", fmt.Errorf("%s is no URI", uri)
	}
	host, name, _ := strings.Cut(rest, "/")
	return (&url.URL{Scheme: scheme, Host: host, Path: "/" + name}).String(), nil
}
