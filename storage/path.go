package storage

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	schemeFile = "file"
	schemeHDFS = "hdfs"
	localRoot  = schemeFile + "://"
)

// knownSchemes is the list in the error for an unsupported scheme.
const knownSchemes = "file:// and hdfs://"

// location is a path in a file system.
type location struct {
	system    fileSystem
	root      string // "file://" or "hdfs://authority"
	path      string // absolute and clean
	asWritten string // path as the caller wrote it; "" if the caller wrote a URI
}

// uri returns the full URI.
func (l location) uri() string { return l.root + l.path }

// at returns the location of another path in the same file system.
func (l location) at(path string) location {
	return location{system: l.system, root: l.root, path: path}
}

// parent returns the location of the directory that contains l.
func (l location) parent() location { return l.at(path.Dir(l.path)) }

// child returns the location of the entry with the given name in the directory l.
func (l location) child(name string) location { return l.at(path.Join(l.path, name)) }

// Qualify returns the full URI of path: the scheme, the name service or host for HDFS, and the
// absolute path. It does not check whether the path exists.
func (f *Files) Qualify(path string) (string, error) {
	l, err := f.resolve(path)
	if err != nil {
		return "", err
	}
	return l.uri(), nil
}

// resolve returns the location of name, a path or URI that a caller of Files has passed.
func (f *Files) resolve(name string) (location, error) {
	if f.err != nil {
		return location{}, f.err
	}
	if name == "" {
		return location{}, fmt.Errorf("the path is empty")
	}
	if strings.ContainsRune(name, 0) {
		return location{}, fmt.Errorf("path %q: contains a NUL byte", name)
	}
	scheme, authority, rest := splitURI(name)
	switch scheme {
	case "":
		return f.resolvePlain(name)
	case schemeFile:
		if authority != "" && authority != "localhost" {
			return location{}, fmt.Errorf("%s: a local path has no host: write file:///%s%s", name, authority, rest)
		}
		return f.local(rest, "")
	case schemeHDFS:
		return f.hdfs(name, authority, rest, "")
	}
	return location{}, fmt.Errorf("%s: unknown scheme %q; known are %s", name, scheme+"://", knownSchemes)
}

// resolvePlain resolves a path without a scheme against fs.defaultFS.
func (f *Files) resolvePlain(name string) (location, error) {
	if f.options.Hadoop == nil {
		return f.local(name, name)
	}
	defaultFS := f.options.Hadoop.DefaultFS()
	scheme, authority, _ := splitURI(defaultFS + "/")
	switch scheme {
	case schemeFile:
		return f.local(name, name)
	case schemeHDFS:
		return f.hdfs(name, authority, name, name)
	}
	return location{}, fmt.Errorf("%s: fs.defaultFS is %s (%s), which bobbin cannot read; known are %s: write the path with its scheme",
		name, defaultFS, f.options.Hadoop.Source("fs.defaultFS"), knownSchemes)
}

func (f *Files) local(name, plain string) (location, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return location{}, fmt.Errorf("%s: %w", name, err)
	}
	system, err := f.system(localRoot, func() (fileSystem, error) { return localSystem{}, nil })
	if err != nil {
		return location{}, err
	}
	return location{system: system, root: localRoot, path: absolute, asWritten: plain}, nil
}

func (f *Files) hdfs(name, authority, rest, plain string) (location, error) {
	if f.options.Hadoop == nil {
		return location{}, fmt.Errorf("%s: no Hadoop configuration: set HADOOP_CONF_DIR to the cluster's client configuration directory", name)
	}
	if authority == "" {
		scheme, host, _ := splitURI(f.options.Hadoop.DefaultFS() + "/")
		if scheme != schemeHDFS || host == "" {
			return location{}, fmt.Errorf("%s: names no NameNode, and fs.defaultFS is %s, not an hdfs:// URI: write hdfs://host:port%s",
				name, f.options.Hadoop.DefaultFS(), rest)
		}
		authority = host
	}
	root := schemeHDFS + "://" + authority
	system, err := f.system(root, func() (fileSystem, error) { return newHDFS(root, f.options) })
	if err != nil {
		return location{}, err
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/user/" + f.options.User + "/" + rest
	}
	return location{system: system, root: root, path: path.Clean(rest), asWritten: plain}, nil
}

// splitURI splits scheme://authority/path or scheme:/path. If name does not begin with a valid
// scheme, a colon and a slash, scheme and authority are empty, and rest is name.
func splitURI(name string) (scheme, authority, rest string) {
	scheme, rest, ok := strings.Cut(name, ":")
	if !ok || !isScheme(scheme) || !strings.HasPrefix(rest, "/") {
		return "", "", name
	}
	scheme = strings.ToLower(scheme)
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, rest, _ = strings.Cut(after, "/")
		rest = "/" + rest
	}
	return scheme, authority, rest
}

// isScheme reports whether s is a valid URI scheme (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

// localHint returns a hint for the error that a path does not exist in HDFS. The hint is ""
// except if the caller passed the path without a scheme and the path exists on the local disk.
func (l location) localHint() string {
	if l.asWritten == "" || l.root == localRoot {
		return ""
	}
	absolute, err := filepath.Abs(l.asWritten)
	if err != nil {
		return ""
	}
	if _, err := os.Lstat(absolute); err != nil {
		return ""
	}
	return fmt.Sprintf("it does exist on the local disk: write %s%s", localRoot, absolute)
}
