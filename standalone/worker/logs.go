package worker

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OwnerLogs lists the processes of an application or driver that this worker has started:
// executors by their ids, or the launches of a driver by their numbers, from 1.
type OwnerLogs struct {
	Owner     string   `json:"owner"`
	Processes []string `json:"processes"`
}

// showOwner lists the processes of an application or a driver as JSON. The URL of a process's
// logs is the URL of this list, followed by a slash and the process's name.
func showOwner(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	owner := r.PathValue("owner")
	if checkID(owner) != nil {
		http.NotFound(w, r)
		return
	}
	entries, err := os.ReadDir(filepath.Join(directory.path, owner))
	if err != nil {
		respondError(w, r, err)
		return
	}
	listed := OwnerLogs{Owner: owner, Processes: []string{}}
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != shuffleName {
			listed.Processes = append(listed.Processes, entry.Name())
		}
	}
	showJSON(w, listed)
}

// LogFiles lists the log files of an executor or driver. It is served at the process's log URL
// with ?format=json. The URL of a file is the log URL, followed by a slash and the file's
// name.
type LogFiles struct {
	Owner   string    `json:"owner"`
	Process string    `json:"process"`
	Files   []LogFile `json:"files"` // by name, the oldest of each first: stderr, stdout.2, stdout.1, stdout
}

// LogFile is one log file.
type LogFile struct {
	Name     string    `json:"name"`
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

// logDirectory returns the directory of a process's logs. It returns false if the request's path
// is invalid.
func logDirectory(r *http.Request, directory *workDirectory) (string, bool) {
	owner, process := r.PathValue("owner"), r.PathValue("process")
	if checkID(owner) != nil || checkID(process) != nil {
		return "", false
	}
	return directory.processDirectory(owner, process).part(logsPart), true
}

// showLogs lists the log files of a process, as a page or, with ?format=json, as JSON.
func showLogs(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	path, ok := logDirectory(r, directory)
	if !ok {
		http.NotFound(w, r)
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		respondError(w, r, err)
		return
	}
	listed := LogFiles{Owner: r.PathValue("owner"), Process: r.PathValue("process"), Files: []LogFile{}}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		listed.Files = append(listed.Files, LogFile{Name: entry.Name(), Size: info.Size(), Modified: info.ModTime()})
	}
	slices.SortFunc(listed.Files, func(a, b LogFile) int {
		nameA, numberA := splitNumber(a.Name)
		nameB, numberB := splitNumber(b.Name)
		if nameA != nameB {
			return strings.Compare(nameA, nameB)
		}
		return numberB - numberA
	})
	if r.URL.Query().Get("format") == "json" {
		showJSON(w, listed)
		return
	}
	showPage(w, "logs", listed)
}

// splitNumber splits the name of a log file, such as stdout.2, into the base name and the number.
// The number is 0 for the newest file.
func splitNumber(name string) (base string, number int) {
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if number, err := strconv.Atoi(name[at+1:]); err == nil && number > 0 {
			return name[:at], number
		}
	}
	return name, 0
}

// showLog serves a log file, or the part that the request's header Range selects.
func showLog(w http.ResponseWriter, r *http.Request, directory *workDirectory) {
	path, ok := logDirectory(r, directory)
	if !ok {
		http.NotFound(w, r)
		return
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		respondError(w, r, err)
		return
	}
	defer func() { _ = root.Close() }()
	file, err := root.Open(filepath.Base(r.PathValue("file")))
	if err != nil {
		respondError(w, r, err)
		return
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeContent(w, r, "", info.ModTime(), file)
}

// respondError responds to a request whose file or directory cannot be read.
func respondError(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	http.Error(w, "The logs cannot be read.", http.StatusInternalServerError)
}
