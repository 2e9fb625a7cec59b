package aggregatedlog

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const (
	temporaryEnding = ".tmp"      // suffix of the name of a file that a NodeManager is still writing
	checksumEnding  = "-checksum" // suffix of the name of a checksum file
	bucketPrefix    = "bucket-"
	buckets         = 10000
)

// Below yarn.nodemanager.remote-app-log-dir, each user has a directory, with a
// subdirectory for each suffix: "logs", "logs-tfile", "logs-ifile" or a configured one.
// An application's files are in USER/bucket-SUFFIX/0001/APPLICATION or, before Hadoop
// 3.3, USER/SUFFIX/APPLICATION.

// ApplicationDir returns the path of an application's directory, relative to the user's
// directory. suffixed is the first element of the path, "SUFFIX" or "bucket-SUFFIX". For
// "bucket-SUFFIX", the result is "" if the application ID is invalid.
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

// Kind is the type of a file in an application's directory.
type Kind int

const (
	KindLogs      Kind = iota
	KindTemporary      // logs that a NodeManager is still writing
	KindChecksum       // the length of the valid part of an indexed file
	KindArchive        // a Hadoop archive (.har), which this package cannot read
)

// KindOf returns the kind of the file with the given name.
func KindOf(name string) Kind {
	switch {
	case strings.HasSuffix(name, temporaryEnding):
		return KindTemporary
	case strings.HasSuffix(name, checksumEnding):
		return KindChecksum
	case strings.HasSuffix(name, ".har"):
		return KindArchive
	}
	return KindLogs
}

// Node returns the ID, "host:port", of the NodeManager that wrote a log file. name is the
// file's name: "host_port" or "host_port_time", where time is in milliseconds. Node returns
// other names unchanged.
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

// ReadChecksum decodes a checksum file: the name of an indexed file, and the length in bytes of
// that file's valid part. Data after the valid part may be incomplete.
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
