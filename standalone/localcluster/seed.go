package localcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/standalone/worker"
)

// shareProgram copies the program into the workers' cache, and links the copy into the
// master's directory of uploaded files. If this fails, the master and the workers transfer the
// program over the network, as in any standalone cluster.
func (c *Cluster) shareProgram(program string) (err error) {
	source, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if err := os.MkdirAll(c.part(cachePart), 0o755); err != nil {
		return err
	}
	draft, err := os.CreateTemp(c.part(cachePart), ".seed-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	hash := sha256.New()
	if _, err = io.Copy(io.MultiWriter(draft, hash), source); err == nil {
		err = draft.Chmod(0o555)
	}
	if err := errors.Join(err, draft.Close()); err != nil {
		return err
	}
	sum := hash.Sum(nil)
	if err := os.Rename(draft.Name(), filepath.Join(c.part(cachePart), worker.CacheEntry(sum, true))); err != nil {
		return err
	}
	uploads := filepath.Join(c.part(masterPart), "files")
	if err := os.MkdirAll(uploads, 0o700); err != nil {
		return err
	}
	err = os.Link(filepath.Join(c.part(cachePart), worker.CacheEntry(sum, true)), filepath.Join(uploads, hex.EncodeToString(sum)))
	if err != nil {
		return fmt.Errorf("the master's copy: %w", err)
	}
	return nil
}
