package aggregatedlog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const (
	temporaryEnding = ".tmp"      // of a file that its node still writes
	checksumEnding  = "-checksum" // of what tells how much of an indexed file counts
	bucketPrefix    = "bucket-"
	buckets         = 10000
)

// Below the directory of yarn.nodemanager.remote-app-log-dir each user has one,
// and in it one for each suffix ("logs", "logs-tfile", "logs-ifile", or what is
// configured). Since Hadoop 3.3 applications lie in buckets:
// USER/bucket-SUFFIX/0001/APPLICATION; before, in USER/SUFFIX/APPLICATION.

// ApplicationDir is where an application's files are below a directory of its
// user's, given that directory's name; "" where the id is none.
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

// Kind is what one of the files in an application's directory is.
type Kind int

// The kinds of files.
const (
	Logs      Kind = iota
	Temporary      // logs that their node has not completed
	Checksum       // tells how much of the logs of an indexed file count
	Archive        // many files in one (Hadoop archive), which is not read
)

// KindOf tells by its name what a file is.
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

// Node is the node id, "host:port", that a file is named after. A file may have
// a time in milliseconds behind it.
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

// ReadChecksum reads a checksum file: of which file how many bytes count, as
// its node had not completed what comes behind.
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
