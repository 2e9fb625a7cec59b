package kerberos

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// serveKCM runs a KCM daemon that stores one cache with one credential, until the test ends.
// principal returns nil if the cache is empty.
func serveKCM(t *testing.T, socket string, cache string, principal, credential func() []byte) {
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				for {
					var header struct {
						Length    uint32
						Version   [2]byte
						Operation uint16
					}
					if binary.Read(conn, binary.BigEndian, &header) != nil {
						return
					}
					argument := make([]byte, header.Length-4)
					if _, err := io.ReadFull(conn, argument); err != nil {
						return
					}
					code, answer := int32(0), []byte(nil)
					id := bytes.Repeat([]byte{7}, kcmCredentialID)
					switch owned := bytes.HasPrefix(argument, []byte(cache+"\x00")) && principal() != nil; {
					case header.Operation == kcmGetDefaultCache:
						answer = []byte(cache + "\x00")
					case !owned:
						code = kcmNoCache
					case header.Operation == kcmGetPrincipal:
						answer = principal()
					case header.Operation == kcmListCredentials:
						answer = id
					case header.Operation == kcmGetCredential && bytes.HasSuffix(argument, id):
						answer = credential()
					default:
						code = -1
					}
					reply := binary.BigEndian.AppendUint32(nil, uint32(4+len(answer)))
					reply = binary.BigEndian.AppendUint32(reply, 0)
					reply = append(binary.BigEndian.AppendUint32(reply, uint32(code)), answer...)
					if _, err := conn.Write(reply); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
}

func TestCacheOfADaemon(t *testing.T) {
	kdc, _ := startKDC(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	config := filepath.Join(dir, "krb5.conf")
	require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\nkcm_socket = "+socket+"\n"), 0o600))
	file := strings.TrimPrefix(os.Getenv(cacheVariable), "FILE:")
	t.Setenv(configVariable, config+":"+kdc.Config())
	t.Setenv(cacheVariable, "KCM:")
	_, err := Open(t.Context(), Options{})
	require.ErrorContains(t, err, "the ticket cache (KRB5CCNAME): KCM:: the daemon that keeps it does not answer")
	require.ErrorContains(t, err, "export KRB5CCNAME=FILE:$HOME/.krb5cc")

	var mu sync.Mutex
	var principal, credential []byte
	get := func(content *[]byte) func() []byte {
		return func() []byte {
			mu.Lock()
			defer mu.Unlock()
			return *content
		}
	}
	serveKCM(t, socket, "1000", get(&principal), get(&credential))
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "no Kerberos ticket: there is no ticket cache KCM: (KRB5CCNAME): run kinit")

	require.NoError(t, kdc.Init(t.Context(), file, "alice", "geheim"))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	content = content[4+binary.BigEndian.Uint16(content[2:]):] // without version and header
	// The principal consists of name type, number of components, realm and name.
	size := 8 + 4 + len(kdctest.Realm) + 4 + len("alice")
	mu.Lock()
	principal, credential = content[:size], content[size:]
	mu.Unlock()
	for _, name := range []string{"KCM:", "KCM:1000"} {
		t.Setenv(cacheVariable, name)
		alice, err := Open(t.Context(), Options{})
		require.NoError(t, err)
		defer alice.Close()
		require.Equal(t, "alice@"+kdctest.Realm, alice.Principal())
		require.WithinDuration(t, time.Now().Add(24*time.Hour), alice.Expires(), time.Minute)
		_, _, err = alice.NewContext(t.Context(), "nn/host")
		require.NoError(t, err)
		description, err := alice.Describe()
		require.NoError(t, err)
		require.Equal(t, "the ticket cache "+name+" (KRB5CCNAME)", description.Source)
	}
	t.Setenv(cacheVariable, "KCM:another")
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "there is no ticket cache KCM:another")
}
