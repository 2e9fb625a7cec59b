package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// cache stores files by SHA-256. It fetches each file once, and links files into working
// directories. Its methods are safe for concurrent use.
//
// The name of an entry is the file's SHA-256. An executable file has an entry of its own, with
// the suffix ".x", because working directories contain hard links to entries, and all hard
// links to a file share its mode. Files are read-only, because executors share them. The entry
// of an archive is a directory with the suffix ".d", into which the archive was unpacked.
type cache struct {
	directory string
	fetch     func(ctx context.Context, hash []byte, to rewriter) error
	now       func() time.Time

	mu      sync.Mutex
	flights map[string]*flight
	used    map[string]int // number of processes that use each entry
}

// flight is a fetch of one entry that is in progress. Several callers may wait for it.
type flight struct {
	done chan struct{}
	err  error
}

// newCache opens the cache in a directory. It creates the directory if it does not exist.
func newCache(directory string, fetch func(ctx context.Context, hash []byte, to rewriter) error) (*cache, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, fmt.Errorf("make the cache of files: %w", err)
	}
	return &cache{directory: directory, fetch: fetch, now: time.Now, flights: map[string]*flight{}, used: map[string]int{}}, nil
}

const (
	executableSuffix = ".x"
	unpackedSuffix   = ".d"
	draftPrefix      = ".draft-"
	draftPattern     = draftPrefix + "*"
)

// CacheEntry returns the name that a file with the given SHA-256 has in a worker's cache. The
// file's mode is 0555 if it is executable, otherwise 0444.
func CacheEntry(sha256 []byte, executable bool) string {
	name := hex.EncodeToString(sha256)
	if executable {
		return name + executableSuffix
	}
	return name
}

func entryOf(file *protocol.File) string {
	if file.GetArchive() {
		return hex.EncodeToString(file.GetSha256()) + unpackedSuffix
	}
	return CacheEntry(file.GetSha256(), file.GetExecutable())
}

// linkFiles links files into a working directory. It fetches the files that the cache does not
// have. The cache keeps the entries of all these files until release is called.
func (c *cache) linkFiles(ctx context.Context, files []*protocol.File, directory string) (release func(), err error) {
	var entries []string
	release = func() { c.release(entries) }
	for _, file := range files {
		if err = c.linkFile(ctx, file, directory); err != nil {
			release()
			return nil, fmt.Errorf("file %s: %w", file.GetName(), err)
		}
		entries = append(entries, entryOf(file))
	}
	return release, nil
}

// linkFile links one file. It marks the file's entry as in use, until release is called.
func (c *cache) linkFile(ctx context.Context, file *protocol.File, directory string) error {
	if err := checkFileName(file.GetName()); err != nil {
		return err
	}
	if len(file.GetSha256()) != sha256.Size {
		return fmt.Errorf("its SHA-256 has %d bytes, want %d", len(file.GetSha256()), sha256.Size)
	}
	entry := entryOf(file)
	c.use(entry)
	err := c.obtain(ctx, file)
	if err == nil {
		err = link(filepath.Join(c.directory, entry), filepath.Join(directory, file.GetName()), file.GetArchive())
	}
	if err != nil {
		c.release([]string{entry})
	}
	return err
}

func (c *cache) use(entry string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[entry]++
}

func (c *cache) release(entries []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, entry := range entries {
		if c.used[entry]--; c.used[entry] == 0 {
			delete(c.used, entry)
		}
	}
}

// obtain ensures that the entry exists: it fetches the file, or waits if another caller is
// fetching it.
func (c *cache) obtain(ctx context.Context, file *protocol.File) error {
	entry := entryOf(file)
	c.mu.Lock()
	current, inFlight := c.flights[entry]
	if !inFlight {
		current = &flight{done: make(chan struct{})}
		c.flights[entry] = current
	}
	c.mu.Unlock()
	if !inFlight {
		current.err = c.makeEntry(ctx, file)
		c.mu.Lock()
		delete(c.flights, entry)
		c.mu.Unlock()
		close(current.done)
		return current.err
	}
	select {
	case <-current.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if current.err != nil && ctx.Err() == nil {
		// The other caller's fetch may have failed because that caller's context ended.
		return c.obtain(ctx, file)
	}
	return current.err
}

// makeEntry fetches the file, unless its entry exists and has the right size.
func (c *cache) makeEntry(ctx context.Context, file *protocol.File) error {
	path := filepath.Join(c.directory, entryOf(file))
	if info, err := os.Stat(path); err == nil && (file.GetArchive() || info.Size() == file.GetSize()) {
		now := c.now()
		return os.Chtimes(path, now, now) // the modification time is the time of the latest use
	}
	draft, err := c.download(ctx, file)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft) }()
	if file.GetArchive() {
		return c.unpackInto(draft, path, file.GetName())
	}
	mode := os.FileMode(0o444)
	if file.GetExecutable() {
		mode = 0o555
	}
	if err := os.Chmod(draft, mode); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// draft is a file that is being fetched.
type draft struct {
	*os.File
	hash hash.Hash
}

func (d *draft) Write(data []byte) (int, error) {
	_, _ = d.hash.Write(data) // never fails
	return d.File.Write(data)
}

func (d *draft) restart() error {
	d.hash.Reset()
	if _, err := d.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return d.Truncate(0)
}

// download fetches a file from a master into a new file and verifies its SHA-256.
func (c *cache) download(ctx context.Context, file *protocol.File) (path string, err error) {
	made, err := os.CreateTemp(c.directory, draftPattern)
	if err != nil {
		return "", err
	}
	content := &draft{made, sha256.New()}
	defer func() {
		if err = errors.Join(err, made.Close()); err != nil {
			_ = os.Remove(made.Name())
		}
	}()
	if err := c.fetch(ctx, file.GetSha256(), content); err != nil {
		return "", err
	}
	if sum := content.hash.Sum(nil); !bytes.Equal(sum, file.GetSha256()) {
		return "", fmt.Errorf("the master sent a content with SHA-256 %x, want %x", sum, file.GetSha256())
	}
	return made.Name(), nil
}

// link creates, at path, a link to an entry: a symbolic link to an archive's directory;
// otherwise a hard link or, if that is impossible, a copy.
func link(entry, path string, archive bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if archive {
		return os.Symlink(entry, path)
	}
	err := os.Link(entry, path)
	if errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return copyFile(entry, path)
	}
	return err
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// clean removes entries that are not in use and whose latest use was before a time.
func (c *cache) clean(before time.Time) (removed int, err error) {
	entries, err := os.ReadDir(c.directory)
	if err != nil {
		return 0, fmt.Errorf("clean the cache: %w", err)
	}
	var problems []error
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || info.ModTime().After(before) {
			continue // the entry was used recently, renamed or removed
		}
		gone, err := c.removeUnused(entry.Name())
		if gone {
			removed++
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	return removed, errors.Join(problems...)
}

// removeUnused removes an entry unless it is in use.
func (c *cache) removeUnused(entry string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[entry] > 0 || (strings.HasPrefix(entry, draftPrefix) && len(c.flights) > 0) {
		return false, nil // while a fetch is in progress, a draft may belong to it; otherwise the draft is left over
	}
	path := filepath.Join(c.directory, entry)
	err := os.RemoveAll(path)
	return err == nil, err
}
