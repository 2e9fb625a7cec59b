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

// A worker writes its id into its directory's lock, and takes it out when it ends
// in order and nothing of it is left. So whoever takes the directory next knows
// whether the one before was killed, and by which mark to find what its guard may
// not have ended, having been killed in the same moment.

// aWorkersID is of the ids that workers make (workerID). Anything shorter could
// be the mark of other workers' processes too.
var aWorkersID = regexp.MustCompile(`^worker-\d{14}-[A-Za-z0-9.-]{1,64}-\d+-[0-9a-f]{6}$`)

// predecessor is the worker that was killed in this directory; "" for none.
func (d *workDirectory) predecessor() (string, error) {
	content, err := io.ReadAll(io.NewSectionReader(d.lock, 0, 256))
	if err != nil || !aWorkersID.Match(content) {
		return "", err
	}
	return string(content), nil
}

// enter notes whose directory it is.
func (d *workDirectory) enter(worker string) error {
	if err := d.lock.Truncate(0); err != nil {
		return fmt.Errorf("the directory to work in: %w", err)
	}
	if _, err := d.lock.WriteAt([]byte(worker), 0); err != nil {
		return fmt.Errorf("the directory to work in: %w", err)
	}
	return nil
}

// leave notes that nothing of its worker is left.
func (d *workDirectory) leave() error { return d.lock.Truncate(0) }

// cleanUpAfter ends what still runs of a worker that was killed, and removes the
// secrets and temporary files of what ran.
func (d *workDirectory) cleanUpAfter(worker string) error {
	problems := []error{guard.Sweep(worker+"/", nil, 0)}
	owners, err := d.owners()
	problems = append(problems, err)
	for _, owner := range owners {
		entries, err := os.ReadDir(d.of(owner))
		problems = append(problems, err)
		for _, entry := range entries {
			if entry.IsDir() {
				problems = append(problems, processDirectory(filepath.Join(d.of(owner), entry.Name())).removeTemporary())
			}
		}
	}
	return errors.Join(problems...)
}
