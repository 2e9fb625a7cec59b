// Package launch is what one process hands to the next when it has it started
// in a container: its role, the application's configuration, and its secrets.
//
// The configuration travels in the container's credentials, as one more secret.
// So a submission writes no file for it, NodeManagers have nothing of the
// application's own to fetch, and no other user of the cluster can read it.
package launch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// Role is what a bobbin program does in the process at hand.
type Role string

// The roles of a program. A program that was started by hand has none.
const (
	RoleAM       Role = "am"
	RoleLauncher Role = "launcher" // the AM in client mode: the driver is elsewhere
	RoleExecutor Role = "executor"
)

// Environment variables by which a container's process knows what it is.
const (
	EnvRole       = "BOBBIN_LAUNCH_ROLE"
	EnvDriver     = "BOBBIN_LAUNCH_DRIVER"      // host:port of the driver
	EnvExecutorID = "BOBBIN_LAUNCH_EXECUTOR_ID" // as the driver knows it
	EnvHost       = "BOBBIN_LAUNCH_HOST"        // the node, as YARN names it
	EnvCores      = "BOBBIN_LAUNCH_CORES"       // of the executor
	EnvProfile    = "BOBBIN_LAUNCH_PROFILE"     // the id of the executor's profile
	EnvLogURL     = "BOBBIN_LAUNCH_LOG_URL"     // the container's logs on its NodeManager
	EnvDriverID   = "BOBBIN_LAUNCH_DRIVER_ID"   // of a driver that a standalone cluster runs, as its master knows it
)

// Environment variables by which yarn-submit has a program run in client mode,
// in its own place.
const (
	EnvProperties = "BOBBIN_LAUNCH_PROPERTIES" // the settings, by key, in JSON
	EnvReport     = "BOBBIN_LAUNCH_REPORT"     // "json" has the application's report printed on stdout at its end
)

// Aliases of bobbin's secrets in a container's credentials.
const (
	SecretSpec   = "bobbin.spec"   // the Spec, in the AM's
	SecretDriver = "bobbin.driver" // what an executor needs to join, in the executors'
)

// MaxSpecBytes bounds an encoded Spec. The ResourceManager keeps it with the
// application, in ZooKeeper often, whose records end at 1 MiB.
const MaxSpecBytes = 512 << 10

// Spec is the application as its submission described it to the AM.
type Spec struct {
	Name       string            `json:"name"`
	User       string            `json:"user"`             // who submitted it, and acts in HDFS
	Properties map[string]string `json:"properties"`       // bobbin's keys that were set
	Hadoop     map[string]string `json:"hadoop,omitempty"` // Hadoop's keys that were set
	Command    []string          `json:"command"`          // the program, as named in the working directory, and its arguments
	Resources  []Resource        `json:"resources"`        // what lies in every container's working directory
	// StagingDir holds what was uploaded for this application alone; "" where
	// nothing was.
	StagingDir string `json:"stagingDir,omitempty"`
	// Pools is the content of the file that scheduler.allocation.file names, ""
	// where it names none: the file is where the submission was made.
	Pools string `json:"pools,omitempty"`
	// Racks are the cluster's nodes when it was submitted, each with its rack:
	// the AM itself may not ask the ResourceManager for them.
	Racks map[string]string `json:"racks,omitempty"`
	// Nodes are what these nodes offered to containers then, by host.
	Nodes map[string]Node `json:"nodes,omitempty"`
	// CacheDirs hold the application's files that other submissions may share.
	// The AM renews their age while it runs.
	CacheDirs []string `json:"cacheDirs,omitempty"`
}

// Node is what a node has for containers.
type Node struct {
	Label    string           `json:"label,omitempty"` // "" for none
	MemoryMB int64            `json:"memory"`
	VCores   int              `json:"cores"`
	Others   map[string]int64 `json:"others,omitempty"` // further resource types
}

// Resource is a file that NodeManagers put into the working directory of a
// container. Size and Timestamp must be those of the file, or the container
// fails to start.
type Resource struct {
	Name      string `json:"name"` // in the working directory
	URL       string `json:"url"`
	Size      int64  `json:"size"`      // bytes
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
	Archive   bool   `json:"archive,omitempty"`
	Public    bool   `json:"public,omitempty"` // readable by everyone, so shared among users on a node
}

// Encode writes the spec as it stands in the credentials.
func (s *Spec) Encode() ([]byte, error) {
	var encoded bytes.Buffer
	compressed := gzip.NewWriter(&encoded)
	if err := json.NewEncoder(compressed).Encode(s); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	if encoded.Len() > MaxSpecBytes {
		return nil, fmt.Errorf("the application's configuration and arguments take %d bytes compressed, the most is %d: "+
			"put long argument lists into a file and ship it with --files", encoded.Len(), MaxSpecBytes)
	}
	return encoded.Bytes(), nil
}

// DecodeSpec reads what Encode wrote.
func DecodeSpec(encoded []byte) (*Spec, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	const most = 64 << 20 // far above what Encode lets through, far below what memory holds
	plain, err := io.ReadAll(io.LimitReader(compressed, most))
	if err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	spec := &Spec{}
	if err := json.Unmarshal(plain, spec); err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	return spec, nil
}
