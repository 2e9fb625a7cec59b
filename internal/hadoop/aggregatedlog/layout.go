package aggregatedlog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const (
	temporaryEnding = ".tmp"      // ends the name of a file that is still being written
	checksumEnding  = "-checksum" // ends the name of a checksum file
	bucketPrefix    = "bucket-"
	buckets         = 10000
)

// Each user has a directory below yarn.nodemanager.remote-app-log-dir. In it there
// is one for each suffix: "logs", "logs-tfile", "logs-ifile", or what is
// configured. Since Hadoop 3.3 the files of an application are in
// USER/bucket-SUFFIX/0001/APPLICATION; before, they were in
// USER/SUFFIX/APPLICATION.

// ApplicationDir returns the path of the directory with an application's files,
// relative to the user's directory. suffixed is the name of the directory below the
// user's. It returns "" if the application ID is invalid.
func ApplicationDir(suffixed, application string) string {
	if !strings.HasPrefix(suffixed, bucketPrefix) {
		return suffixed + "/" + application
	}
	last := application[strings.LastIndexByte(application, '_')+1:]
	number, err := strconv.ParseUint(last, 10, 31)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%04d/%s", suffixed, number%buckets, application)
}

// Kind is the kind of a file in an application's directory.
type Kind int

// The kinds of files in an application's directory.
const (
	Logs      Kind = iota
	Temporary      // logs that a NodeManager is still writing
	Checksum       // the length of the valid part of an indexed file
	Archive        // a Hadoop archive (.har), which this package cannot read
)

// KindOf returns the kind of a file with this name.
func KindOf(name string) Kind {
	switch {
	case strings.HasSuffix(name, temporaryEnding):
		return Temporary
	case strings.HasSuffix(name, checksumEnding):
		return Checksum
	case strings.HasSuffix(name, ".har"):
		return Archive
	}
	return Logs
}

// Node returns the node ID, "host:port", that a file's name contains. In the name,
// a time in milliseconds may follow it.
func Node(name string) string {
	parts := strings.Split(strings.TrimSuffix(name, temporaryEnding), "_")
	const millis = 13
	if last := parts[len(parts)-1]; len(parts) > 2 && len(last) >= millis && strings.Trim(last, "0123456789") == "" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) < 2 {
		return name
	}
	return strings.Join(parts[:len(parts)-1], "_") + ":" + parts[len(parts)-1]
}

// ReadChecksum decodes the content of a checksum file: the name of an indexed file,
// and the length in bytes of its valid part. After that part, the file may be
// incomplete.
func ReadChecksum(content []byte) (file string, complete int64, err error) {
	if len(content) < 4 {
		return "", 0, fmt.Errorf("%w: a checksum file of %d bytes", ErrFormat, len(content))
	}
	length := int64(binary.BigEndian.Uint32(content))
	if length+12 > int64(len(content)) {
		return "", 0, fmt.Errorf("%w: a checksum file of %d bytes with a name of %d", ErrFormat, len(content), length)
	}
	complete = int64(binary.BigEndian.Uint64(content[4+length:]))
	if complete < 0 {
		return "", 0, fmt.Errorf("%w: a checksum file tells of %d bytes", ErrFormat, complete)
	}
	return string(content[4 : 4+length]), complete, nil
}
