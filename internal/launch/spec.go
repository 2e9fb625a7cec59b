package launch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// MaxSpecBytes bounds an encoded Spec. The ResourceManager stores it with the
// application, often in ZooKeeper, whose records have at most 1 MiB.
const MaxSpecBytes = 512 << 10

// Spec describes an application to its ApplicationMaster. It travels as a secret in
// the container's credentials: a submission writes no file for it, NodeManagers
// have nothing more to fetch, and no other user of the cluster can read it.
type Spec struct {
	Name       string            `json:"name"`
	User       string            `json:"user"`             // the submitting user, also in HDFS
	Properties map[string]string `json:"properties"`       // bobbin's keys that were set
	Hadoop     map[string]string `json:"hadoop,omitempty"` // Hadoop's keys that were set
	Command    []string          `json:"command"`          // the program, by its name in the working directory, and its arguments
	Resources  []LocalResource   `json:"resources"`        // files in every container's working directory
	// StagingDir holds the files that were uploaded for this application alone; "" if
	// there are none.
	StagingDir string `json:"stagingDir,omitempty"`
	// Pools is the content of the file scheduler.allocation.file, which is on the
	// submitting machine; "" for no pools.
	Pools string `json:"pools,omitempty"`
	// Racks are the racks of the cluster's nodes at the submission, by host: the
	// ApplicationMaster must not ask the ResourceManager for them.
	Racks map[string]string `json:"racks,omitempty"`
	// Nodes are the same nodes' resources, by host.
	Nodes map[string]Node `json:"nodes,omitempty"`
	// CacheDirs hold the application's files that other submissions may share. The
	// ApplicationMaster renews their age.
	CacheDirs []string `json:"cacheDirs,omitempty"`
}

// Node has the label and the resources of a node.
type Node struct {
	Label    string           `json:"label,omitempty"` // "" for none
	MemoryMB int64            `json:"memory"`
	VCores   int              `json:"cores"`
	Others   map[string]int64 `json:"others,omitempty"` // further resource types
}

// LocalResource is a file that NodeManagers put into a container's working
// directory. A container fails to start if Size or Timestamp is not the file's.
type LocalResource struct {
	Name      string `json:"name"` // in the working directory
	URL       string `json:"url"`
	Size      int64  `json:"size"`      // bytes
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
	Archive   bool   `json:"archive,omitempty"`
}

// Encode returns the spec as SecretSpec. It fails above MaxSpecBytes.
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

// DecodeSpec decodes the result of Encode.
func DecodeSpec(encoded []byte) (*Spec, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	const maxBytes = 64 << 20 // far above any encoded Spec, far below the memory of a machine
	plain, err := io.ReadAll(io.LimitReader(compressed, maxBytes))
	if err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	spec := &Spec{}
	if err := json.Unmarshal(plain, spec); err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	return spec, nil
}
