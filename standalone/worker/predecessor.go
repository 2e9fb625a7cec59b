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

// The lock file of a worker's directory contains the worker's id until all processes of the
// worker have ended. If the next worker finds an id in the file, the previous worker was
// killed, perhaps together with its guard (package guard). The previous worker's remaining
// processes are then found by the id.

// workerIDForm matches the ids that workerID returns. Any other text in the lock file is
// ignored: the id is used as a prefix of the marks of the processes to kill, and a short
// prefix could match processes of other workers.
var workerIDForm = regexp.MustCompile(`^worker-\d{14}-[A-Za-z0-9.-]{1,64}-\d+-[0-9a-f]{6}$`)

// predecessor returns the id of the previous worker if that worker was killed, otherwise "".
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

// clearOwner removes the worker's id from the lock file. It is called after all processes of
// the worker have ended.
func (d *workDirectory) clearOwner() error { return d.lock.Truncate(0) }

// cleanUpAfter kills the remaining processes of a worker that was killed, and removes their
// credentials, temporary files and map outputs.
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
