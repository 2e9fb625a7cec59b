package kerberos

import (
	"cmp"
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

// loadCache reads the user's ticket cache. name is the cache's name or the path of its file.
// from is the setting that determines the name, for error messages.
func (s *settings) loadCache() (cache *credentials.CCache, name, from string, err error) {
	name, from = s.nameOfCache()
	var content []byte
	switch kind, kept, _ := strings.Cut(name, ":"); kind {
	case "KCM":
		content, err = readKCM(cmp.Or(s.kcmSocket, kcmSocket), kept)
	case "KEYRING":
		content, err = readKeyring(kept)
	default:
		if name, err = cacheFile(name, from); err != nil {
			return nil, name, from, err
		}
		if content, err = os.ReadFile(name); err != nil {
			return nil, name, from, err
		}
	}
	if err != nil {
		return nil, name, from, fmt.Errorf("%s: %w", name, err)
	}
	cache, err = parseCache(name, content)
	return cache, name, from, err
}

// nameOfCache returns the name of the user's ticket cache, and the setting that determines it.
func (s *settings) nameOfCache() (name, from string) {
	name, from = os.Getenv(cacheVariable), cacheVariable
	if name == "" {
		name, from = s.cacheName, "default_ccache_name in "+strings.Join(s.files, ", ")
	}
	if name == "" {
		name, from = "FILE:/tmp/krb5cc_%{uid}", "the default"
	}
	return expandParameters(name), from
}

// cacheFile returns the path of the ticket cache with the given name, such as "DIR:/tmp/cc".
// from is the setting that determines the name, for error messages.
func cacheFile(name, from string) (string, error) {
	kind, rest, typed := strings.Cut(name, ":")
	if !typed || strings.HasPrefix(name, "/") {
		return name, nil
	}
	switch kind {
	case "FILE":
		return rest, nil
	case "DIR":
		path, err := primaryOf(rest)
		if err != nil {
			return "", fmt.Errorf("the ticket cache %s (%s): %w", name, from, err)
		}
		return path, nil
	}
	return "", fmt.Errorf("the ticket cache is %s (%s), and bobbin reads caches of the types FILE, DIR, KCM and KEYRING only: "+
		"export %s=FILE:$HOME/.krb5cc and run kinit, or use --principal with --keytab", name, from, cacheVariable)
}

// primaryOf returns the path of the current ticket cache in a collection (type DIR). dir is
// either the collection's directory, or ":" and the path of one cache in the directory, which
// primaryOf then returns.
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

// expandParameters replaces the parameters, such as %{uid}, that MIT's library allows in
// the name of a ticket cache.
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
