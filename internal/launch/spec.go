package launch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// MaxSpecBytes limits an encoded Spec. The ResourceManager stores it, often in ZooKeeper,
// whose default limit is 1 MiB.
const MaxSpecBytes = 512 << 10

// Spec describes an application for its ApplicationMaster. It is a secret in the
// container's credentials: no file to localize, and unreadable for other users.
type Spec struct {
	Name       string            `json:"name"`
	User       string            `json:"user"`              // the user who submitted the application, also in HDFS
	Properties map[string]string `json:"properties"`        // settings of bobbin that were set, by key
	Origins    map[string]string `json:"origins,omitempty"` // where the submitter got Properties from, by key
	Hadoop     map[string]string `json:"hadoop,omitempty"`  // Hadoop's keys that were set, with their values
	Command    []string          `json:"command"`           // the program, as a path relative to the working directory, and its arguments
	Resources  []LocalResource   `json:"resources"`         // files to localize for every container
	// StagingDir is the URI of the directory with files for this application only, or "".
	StagingDir string `json:"stagingDir,omitempty"`
	// Pools is the content of the submitter's file scheduler.allocation.file, or "".
	Pools string `json:"pools,omitempty"`
	// Racks has the rack of each host, as of the submission: the ResourceManager does not
	// let an ApplicationMaster request the racks.
	Racks map[string]string `json:"racks,omitempty"`
	Nodes map[string]Node   `json:"nodes,omitempty"` // label and resources of each host in Racks
	// CacheDirs are the URIs of cache entries with the application's files. The
	// ApplicationMaster updates their time of last use, so that they are not removed.
	CacheDirs []string `json:"cacheDirs,omitempty"`
	// Login is how the ApplicationMaster logs in to Kerberos; nil if it has only the
	// submission's delegation tokens.
	Login *Login `json:"login,omitempty"`
}

// KeytabFile is the name of the keytab in the ApplicationMaster's working directory. No
// other container has it.
const KeytabFile = "bobbin.keytab"

// Login describes a login to Kerberos with KeytabFile.
type Login struct {
	Principal string `json:"principal"`
	// FileSystems are the URIs of the file systems of which the application needs
	// delegation tokens.
	FileSystems []string `json:"fileSystems"`
}

// Node describes a node's label and total resources.
type Node struct {
	Label    string           `json:"label,omitempty"` // "" for no label
	MemoryMB int64            `json:"memory"`
	VCores   int              `json:"cores"`
	Others   map[string]int64 `json:"others,omitempty"` // amounts of other resource types, by type
}

// LocalResource is a file that NodeManagers localize for a container, which fails to
// start if the file's size or modification time has changed.
type LocalResource struct {
	Name      string `json:"name"` // path in the working directory
	URL       string `json:"url"`
	Size      int64  `json:"size"`      // bytes
	Timestamp int64  `json:"timestamp"` // modification time, in milliseconds since 1970
	Archive   bool   `json:"archive,omitempty"`
}

// Encode returns the content of the secret SecretSpec, unless it exceeds MaxSpecBytes.
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
	const maxBytes = 64 << 20 // far above any Spec, far below a machine's memory
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
