package launch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
)

// MaxSpecBytes limits an encoded Spec, because the ResourceManager may store it in ZooKeeper,
// whose default limit is 1 MiB.
const MaxSpecBytes = 512 << 10

// Spec describes an application for its ApplicationMaster. It is passed as a secret in the
// container's credentials, so it needs no file to localize, and other users cannot read it.
type Spec struct {
	Name       string            `json:"name"`
	User       string            `json:"user"`              // the user who submitted the application; HDFS is accessed as this user
	Properties map[string]string `json:"properties"`        // the settings of bobbin that were set, by key
	Origins    map[string]string `json:"origins,omitempty"` // where each of Properties was set, by key
	Hadoop     map[string]string `json:"hadoop,omitempty"`  // the Hadoop properties that were set, by key
	Command    []string          `json:"command"`           // the program, as a path relative to the working directory, and its arguments
	Resources  []LocalResource   `json:"resources"`         // files to localize for every container
	// StagingDir is the URI of the directory for files of this application only, or "".
	StagingDir string `json:"stagingDir,omitempty"`
	// Pools is the content of the file that the setting "scheduler.allocation.file" of the
	// submitter names; "" if it is not set.
	Pools string `json:"pools,omitempty"`
	// Racks is the rack of each host, by host, as of the submission, because the
	// ResourceManager does not tell an ApplicationMaster the racks.
	Racks map[string]string `json:"racks,omitempty"`
	Nodes map[string]Node   `json:"nodes,omitempty"` // label and resources of each host in Racks
	// CacheDirs are the URIs of the cache entries that contain the application's files. The
	// ApplicationMaster updates their time of last use, so that they are not removed.
	CacheDirs []string `json:"cacheDirs,omitempty"`
	// Login is how the ApplicationMaster logs in to Kerberos. If it is nil, the
	// ApplicationMaster uses only the submitter's delegation tokens.
	Login *Login `json:"login,omitempty"`
}

// KeytabFile is the name of the keytab in the ApplicationMaster's working directory. It is not
// localized for other containers.
const KeytabFile = "bobbin.keytab"

// Login describes a login to Kerberos with the keytab in the file KeytabFile.
type Login struct {
	Principal string `json:"principal"`
	// FileSystems are the URIs of the file systems for which the application needs delegation
	// tokens.
	FileSystems []string `json:"fileSystems"`
}

// Node describes a node's label and total resources.
type Node struct {
	Label    string           `json:"label,omitempty"` // "" for no label
	MemoryMB int64            `json:"memory"`
	VCores   int              `json:"cores"`
	Others   map[string]int64 `json:"others,omitempty"` // amounts of resource types other than memory and cores, by type
}

// LocalResource is a file that NodeManagers localize for a container. The container fails to
// start if the file's size or modification time has changed.
type LocalResource struct {
	Name      string `json:"name"` // path relative to the container's working directory
	URL       string `json:"url"`
	Size      int64  `json:"size"`      // in bytes
	Timestamp int64  `json:"timestamp"` // modification time, in milliseconds since 1970
	Archive   bool   `json:"archive,omitempty"`
}

// Encode returns s in the format of the secret SecretSpec. It fails if s exceeds MaxSpecBytes.
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

// DecodeSpec decodes the result of [Spec.Encode].
func DecodeSpec(encoded []byte) (*Spec, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("application spec: %w", err)
	}
	const maxBytes = 64 << 20 // limit of the decompressed size: far above any Spec, far below a machine's memory
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
