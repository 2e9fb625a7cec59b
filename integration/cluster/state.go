package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// state describes a cluster for other processes. It is stored in cluster.json in the cluster's
// directory.
type state struct {
	HadoopVersion string        `json:"hadoopVersion"`
	Nodes         []NodeSpec    `json:"nodes"`
	Environ       []string      `json:"environ"`
	Daemons       []daemonState `json:"daemons"`
}

type daemonState struct {
	Name      string              `json:"name"`
	Command   []string            `json:"command"`
	Endpoints map[Endpoint]string `json:"endpoints"`
	Process   process             `json:"process"`
}

// stateFile is the path of a file cluster.json and its content.
type stateFile struct {
	path string

	mu    sync.Mutex
	state state
}

func (f *stateFile) record(daemon string, current process) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.state.Daemons {
		if f.state.Daemons[i].Name == daemon {
			f.state.Daemons[i].Process = current
		}
	}
	return f.write()
}

// write writes the state to the file atomically.
func (f *stateFile) write() error {
	content, err := json.MarshalIndent(f.state, "", "  ")
	if err != nil {
		return err
	}
	fresh := f.path + ".new"
	if err := os.WriteFile(fresh, content, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, f.path)
}

// readState reads the state from the file at path. It fails with ErrNoCluster if the file does
// not exist.
func readState(path string) (*stateFile, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no %s", ErrNoCluster, path)
	}
	if err != nil {
		return nil, err
	}
	f := &stateFile{path: path}
	if err := json.Unmarshal(content, &f.state); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
