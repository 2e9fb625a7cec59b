package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/credentials"
)

const cacheVariable = "KRB5CCNAME"

// cacheFile returns the path of the user's ticket cache, and where its name comes from.
func (s *settings) cacheFile() (path, from string, err error) {
	name, from := os.Getenv(cacheVariable), cacheVariable
	if name == "" {
		name, from = s.cacheName, "default_ccache_name in "+strings.Join(s.files, ", ")
	}
	if name == "" {
		name, from = "FILE:/tmp/krb5cc_%{uid}", "the default"
	}
	name = expandParameters(name)
	kind, rest, typed := strings.Cut(name, ":")
	if !typed || strings.HasPrefix(name, "/") {
		return name, from, nil
	}
	switch kind {
	case "FILE":
		return rest, from, nil
	case "DIR":
		path, err := primaryOf(rest)
		if err != nil {
			err = fmt.Errorf("the ticket cache %s (%s): %w", name, from, err)
		}
		return path, from, err
	}
	return "", from, fmt.Errorf("the ticket cache is %s (%s), and bobbin reads caches of the types FILE and DIR only: "+
		"export %s=FILE:$HOME/.krb5cc and run kinit, or use --principal with --keytab", name, from, cacheVariable)
}

// primaryOf returns the current cache of a collection: the directory dir, or the file
// in it that ":path" names.
func primaryOf(dir string) (string, error) {
	if file, one := strings.CutPrefix(dir, ":"); one {
		return file, nil
	}
	content, err := os.ReadFile(filepath.Join(dir, "primary"))
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Join(dir, "tkt"), nil
	}
	return filepath.Join(dir, filepath.Base(strings.TrimSpace(string(content)))), err
}

// expandParameters replaces MIT's parameters in the name of a cache.
func expandParameters(name string) string {
	login := ""
	if u, err := user.Current(); err == nil {
		login = u.Username
	}
	return strings.NewReplacer(
		"%{uid}", strconv.Itoa(os.Getuid()), "%{USERID}", strconv.Itoa(os.Getuid()), "%{euid}", strconv.Itoa(os.Geteuid()),
		"%{username}", login, "%{TEMP}", os.TempDir(), "%{null}", "",
	).Replace(name)
}

// readCache reads a ticket cache. gokrb5 panics if a file is truncated.
func readCache(path string) (cache *credentials.CCache, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			cache, err = nil, fmt.Errorf("%s is no complete ticket cache: run kinit again", path)
		}
	}()
	cache = &credentials.CCache{Path: path}
	if err := cache.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cache, nil
}
