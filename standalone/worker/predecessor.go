package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/bobbin-yarn/bobbin/standalone/worker/guard"
)

// A worker's id is in its directory's lock file until all its processes have ended.
// If the next worker finds an id there, the earlier worker was killed, perhaps with
// its guard (package guard); its remaining processes are found by the id.

// workerIDForm matches the ids that workerID makes. Other texts in the lock file are
// ignored, because processes are found by this prefix: a shorter one could match
// those of other workers.
var workerIDForm = regexp.MustCompile(`^worker-\d{14}-[A-Za-z0-9.-]{1,64}-\d+-[0-9a-f]{6}$`)

// predecessor returns the id of the worker that was killed in this directory, or "".
func (d *workDirectory) predecessor() (string, error) {
	content, err := io.ReadAll(io.NewSectionReader(d.lock, 0, 256))
	if err != nil || !workerIDForm.Match(content) {
		return "", err
	}
	return string(content), nil
}

// setOwner writes the worker's id into the lock file.
func (d *workDirectory) setOwner(worker string) error {
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("the directory to work in: %w", err)
	}
	if _, err := d.lock.WriteAt([]byte(worker), 0); err != nil {
		return fmt.Errorf("the directory to work in: %w", err)
	}
	return nil
}

// clearOwner removes the worker's id after all its processes have ended.
func (d *workDirectory) clearOwner() error { return d.lock.Truncate(0) }

// cleanUpAfter kills a killed worker's processes, and removes their secrets, temporary
// files and map outputs.
func (d *workDirectory) cleanUpAfter(worker string) error {
	problems := []error{guard.Sweep(worker+"/", nil, 0), d.removeShuffles()}
	owners, err := d.owners()
	problems = append(problems, err)
	for _, owner := range owners {
		entries, err := os.ReadDir(d.join(owner))
		problems = append(problems, err)
		for _, entry := range entries {
			if entry.IsDir() {
				problems = append(problems, processDirectory(filepath.Join(d.join(owner), entry.Name())).removeTemporary())
			}
		}
	}
	return errors.Join(problems...)
}
