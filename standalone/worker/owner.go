package worker

import (
	"net/http"
	"os"
	"path/filepath"
)

// OwnerLogs are the processes of an application or a driver of which the worker has
// logs, running and ended: executors by their ids, or the launches of the driver.
type OwnerLogs struct {
	Owner     string   `json:"owner"`
	Processes []string `json:"processes"`
}

// showOwner lists the processes of an owner as JSON. The logs of each are behind
// the same URL, a slash and its name.
func showOwner(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	owner := r.PathValue("owner")
	if checkID(owner) != nil {
		http.NotFound(w, r)
		return
	}
	entries, err := os.ReadDir(filepath.Join(directory.path, owner))
	if err != nil {
		refuse(w, r, err)
		return
	}
	listed := OwnerLogs{Owner: owner, Processes: []string{}}
	for _, entry := range entries {
		if entry.IsDir() {
			listed.Processes = append(listed.Processes, entry.Name())
		}
	}
	showJSON(w, listed)
}
