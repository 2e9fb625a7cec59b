package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Names of keys and keyrings in which MIT's library stores ticket caches (cc_keyring.c).
const (
	keyringOfCaches     = "_krb_" // prefix of the names of keyrings with caches
	keyringOfPersistent = "_krb"  // keyring with caches in a user's persistent keyring
	keyOfPrimary        = "krb_ccache:primary"
	keyOfPrincipal      = "__krb5_princ__"
	keyOfOffsets        = "__krb5_time_offsets__"
)

// readKeyring returns the content of a ticket cache in the kernel's keyrings, in the format of a
// cache file. name is KIND:COLLECTION or KIND:COLLECTION:CACHE, without the cache's type. Without
// CACHE, it is the collection's primary cache. readKeyring fails with fs.ErrNotExist if the cache
// does not exist.
func readKeyring(name string) ([]byte, error) {
	runtime.LockOSThread() // each thread has keyrings of its own
	defer runtime.UnlockOSThread()
	content, err := readKeys(name)
	if hasExpired(err) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("the kernel's keyring cannot be read here (%w): export %s=FILE:$HOME/.krb5cc and run kinit", err, cacheVariable)
	}
	return content, nil
}

func readKeys(name string) ([]byte, error) {
	kind, rest, _ := strings.Cut(name, ":")
	collection, cache, _ := strings.Cut(rest, ":")
	ring, where := 0, keyringOfCaches+collection
	switch kind {
	case "session":
		ring = unix.KEY_SPEC_SESSION_KEYRING
	case "user":
		ring = unix.KEY_SPEC_USER_KEYRING
	case "persistent":
		user := os.Geteuid()
		var err error
		if collection != "" {
			if user, err = strconv.Atoi(collection); err != nil {
				return nil, err
			}
		}
		// The persistent keyring becomes readable when it is linked to another keyring.
		if ring, err = unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, user, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0); err != nil {
			return nil, err
		}
		where = keyringOfPersistent
	default:
		return nil, fmt.Errorf("bobbin reads keyrings of the kinds session, user and persistent only: %w", errors.ErrUnsupported)
	}
	ring, err := unix.KeyctlSearch(ring, "keyring", where, 0)
	if err == nil && cache == "" {
		cache, err = primaryIn(ring)
	}
	if err == nil {
		ring, err = unix.KeyctlSearch(ring, "keyring", cache, 0)
	}
	if err != nil {
		return nil, err
	}
	principal, err := unix.KeyctlSearch(ring, "user", keyOfPrincipal, 0)
	if err != nil {
		return nil, err
	}
	keys, err := readKey(ring)
	if err != nil {
		return nil, err
	}
	content := []byte{5, 4, 0, 0} // format version 4, with an empty header
	ids := []int{principal}
	for ; len(keys) >= 4; keys = keys[4:] {
		id := int(int32(binary.NativeEndian.Uint32(keys)))
		described, err := unix.KeyctlString(unix.KEYCTL_DESCRIBE, id) // type;uid;gid;permissions;name
		if hasExpired(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if name := described[strings.LastIndexByte(described, ';')+1:]; !slices.Contains([]string{keyOfPrincipal, keyOfOffsets}, name) {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		value, err := readKey(id)
		if hasExpired(err) && id != principal {
			continue
		}
		if err != nil {
			return nil, err
		}
		content = append(content, value...)
	}
	return content, nil
}

// hasExpired reports whether err means that a key is no longer valid. A ticket's key expires with
// the ticket, and the kernel removes it later.
func hasExpired(err error) bool {
	return errors.Is(err, unix.EKEYEXPIRED) || errors.Is(err, unix.EKEYREVOKED) || errors.Is(err, unix.ENOKEY)
}

// primaryIn returns the name of the primary cache in a keyring with caches.
func primaryIn(ring int) (string, error) {
	key, err := unix.KeyctlSearch(ring, "user", keyOfPrimary, 0)
	if err != nil {
		return "", err
	}
	value, err := readKey(key)
	if err != nil {
		return "", err
	}
	const header = 8 // version and length of the name
	if len(value) < header {
		return "", fmt.Errorf("%s is malformed", keyOfPrimary)
	}
	return string(value[header:]), nil
}

// readKey returns the value of a key. The value of a keyring is the ids of its keys.
func readKey(id int) ([]byte, error) {
	size, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, nil, 0)
	if err != nil {
		return nil, err
	}
	value := make([]byte, size)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, value, 0)
	return value[:min(n, size)], err
}
