package kerberos

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"time"
)

const (
	// kcmSocket is the default socket of the KCM daemon, which stores ticket caches. The
	// setting kcm_socket in krb5.conf overrides it.
	kcmSocket = "/var/run/.heim_org.h5l.kcm-socket"
	// kcmTimeout limits the time to connect to the daemon. It also limits the time of all
	// requests together.
	kcmTimeout = 5 * time.Second
	// maxKCMReply is the largest accepted reply in bytes.
	maxKCMReply = 10 << 20
)

// Operation codes of the daemon's protocol, its error code for a missing cache, and the size of
// a credential's ID (see MIT's kcm.h and krb5_err.et).
const (
	kcmGetPrincipal    = 8
	kcmListCredentials = 9
	kcmGetCredential   = 10
	kcmGetDefaultCache = 20

	kcmNoCache      = -1765328189 // KRB5_FCC_NOFILE
	kcmCredentialID = 16          // bytes
)

// readKCM returns the content of a ticket cache of the KCM daemon, in the format of a cache
// file. name is "" for the user's default cache. readKCM fails with fs.ErrNotExist if the cache
// does not exist or is empty.
func readKCM(socket, name string) ([]byte, error) {
	conn, err := net.DialTimeout("unix", socket, kcmTimeout)
	if err != nil {
		return nil, fmt.Errorf("the daemon that keeps it does not answer (%v): start it (sssd-kcm), or export %s=FILE:$HOME/.krb5cc and run kinit", err, cacheVariable)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(kcmTimeout)); err != nil {
		return nil, err
	}
	return readCacheFrom(conn, name)
}

// readCacheFrom is readKCM with a connection to the daemon.
func readCacheFrom(conn io.ReadWriter, name string) (content []byte, err error) {
	cache := append([]byte(name), 0)
	if name == "" {
		if cache, err = askKCM(conn, kcmGetDefaultCache, nil); err != nil {
			return nil, err
		}
	}
	content = []byte{5, 4, 0, 0} // format version 4, with an empty header
	principal, err := askKCM(conn, kcmGetPrincipal, cache)
	if err != nil {
		return nil, err
	}
	if len(principal) == 0 {
		return nil, fs.ErrNotExist // the cache is empty: the user has not logged in
	}
	content = append(content, principal...)
	ids, err := askKCM(conn, kcmListCredentials, cache)
	if err != nil {
		return nil, err
	}
	for ; len(ids) >= kcmCredentialID; ids = ids[kcmCredentialID:] {
		credential, err := askKCM(conn, kcmGetCredential, append(bytes.Clone(cache), ids[:kcmCredentialID]...))
		if err != nil {
			return nil, err
		}
		content = append(content, credential...)
	}
	return content, nil
}

// askKCM sends a request with its argument to the daemon, and returns the answer.
func askKCM(conn io.ReadWriter, operation uint16, argument []byte) ([]byte, error) {
	request := binary.BigEndian.AppendUint32(nil, uint32(4+len(argument)))
	request = append(request, 2, 0) // the protocol's version
	request = append(binary.BigEndian.AppendUint16(request, operation), argument...)
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	// Length is the size in bytes of Code, which is the daemon's error code, and of the answer.
	// Transport, the transport's error code, does not count.
	var header struct {
		Length          uint32
		Transport, Code int32
	}
	if err := binary.Read(conn, binary.BigEndian, &header); err != nil {
		return nil, err
	}
	const codeSize = 4
	switch code := cmp.Or(header.Transport, header.Code); {
	case header.Length < codeSize || header.Length > maxKCMReply:
		return nil, errors.New("the answer of the daemon that keeps it is malformed")
	case code == kcmNoCache:
		return nil, fs.ErrNotExist
	case code != 0:
		return nil, fmt.Errorf("the daemon that keeps it answers with error %d", code)
	}
	answer := make([]byte, header.Length-codeSize)
	_, err := io.ReadFull(conn, answer)
	return answer, err
}
