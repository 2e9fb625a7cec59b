//go:build kerberos

package kerberos

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// testSecretsAreHidden searches everything that other users could read for the secrets of a
// running application of alice: the program steady in the given deploy mode, with a keytab. It
// returns the application's id and secrets.
func (s *kerberosCluster) testSecretsAreHidden(t *testing.T, mode string) (id string, found secrets) {
	id = s.running(t, "steady-"+mode)
	require.Eventually(t, func() bool { return len(s.tokenFiles(t, id)) >= 2 }, testTimeout, 200*time.Millisecond)
	secrets := s.secretsOf(t, id)

	_, number, _ := strings.Cut(id, "_")
	containers, submitters := 0, 0
	directories, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(t, err)
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		isContainer, isOurs := bytes.Contains(environ, []byte(number)), bytes.Contains(environ, []byte(s.cache))
		if err != nil || !isContainer && !isOurs {
			continue
		}
		line, err := os.ReadFile(filepath.Join(directory, "cmdline"))
		if err != nil {
			continue // the process has ended
		}
		secrets.requireNotIn(t, "environment of process "+filepath.Base(directory), environ)
		secrets.requireNotIn(t, "command line of process "+filepath.Base(directory), line)
		if isContainer {
			containers++
		} else if bytes.Contains(line, []byte("/user/alice/"+mode)) {
			submitters++
		}
	}
	require.GreaterOrEqual(t, containers, 2, "an ApplicationMaster and an executor run")
	require.Equal(t, 1, submitters, "in client mode it is the driver")

	for where, content := range s.readPages(t, id) {
		secrets.requireNotIn(t, where, content)
	}
	status := s.run(t, "status", "--json", id)
	require.Equal(t, 0, status.code, status.stderr)
	secrets.requireNotIn(t, "yarn-submit status", []byte(status.stdout+status.stderr))

	logs := 0
	for _, pattern := range []string{"node-*/containers/*/*/*", "logs/*"} {
		files, err := filepath.Glob(filepath.Join(s.dir(), pattern))
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			secrets.requireNotIn(t, file, content)
			logs++
		}
	}
	require.Greater(t, logs, 6)
	return id, secrets
}

// testEventLogsHide searches the event logs of alice's ended applications for their secrets.
func (s *kerberosCluster) testEventLogsHide(t *testing.T, applications map[string]secrets) {
	files := s.filesOf(t, cluster.Alice)
	entries, err := eventlog.List(t.Context(), files, eventlog.DefaultDirectory(cluster.Alice))
	require.NoError(t, err)
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	searched := 0
	for _, entry := range entries {
		secrets, asked := applications[entry.Application]
		if !asked {
			continue
		}
		file, err := files.Open(t.Context(), entry.Path)
		require.NoError(t, err)
		content, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		events, err := decoder.DecodeAll(content, nil)
		require.NoError(t, err)
		require.Contains(t, string(events), entry.Application)
		secrets.requireNotIn(t, entry.Path, events)
		searched++
	}
	require.Equal(t, len(applications), searched)
}

// running waits until alice's application with the given name is running, and returns its id.
func (s *kerberosCluster) running(t *testing.T, name string) (id string) {
	var r commandResult
	require.Eventually(t, func() bool {
		r = s.run(t, "list", "--json", "--state", "RUNNING", "--name", name)
		var listed []struct{ ApplicationID string }
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &listed), r.stderr)
		if len(listed) == 1 {
			id = listed[0].ApplicationID
		}
		return id != ""
	}, testTimeout, 200*time.Millisecond, "%+v", &r)
	return id
}

// copiesOf returns the paths of the files below directories that have the given content.
func copiesOf(t *testing.T, content []byte, directories []string) (copies []string) {
	for _, directory := range directories {
		assert.NoError(t, filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return nil // the file may have been removed
			}
			if info, err := entry.Info(); err != nil || info.Size() != int64(len(content)) {
				return nil
			}
			if found, err := os.ReadFile(path); err == nil && bytes.Equal(found, content) {
				copies = append(copies, path)
			}
			return nil
		}))
	}
	return copies
}

// testKeytabIsHidden checks that only alice can read the staged and localized keytab of an
// application. Another application with the same keytab runs at the same time.
func (s *kerberosCluster) testKeytabIsHidden(t *testing.T, id, other string) {
	staged := "/user/alice/.bobbin/staging/" + id + "/" + launch.KeytabFile
	info, err := s.filesOf(t, cluster.Alice).Stat(t.Context(), staged)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode.Perm())
	require.Equal(t, cluster.Alice, info.Owner)
	_, err = s.filesOf(t, cluster.Bob).Open(t.Context(), staged)
	require.ErrorIs(t, err, fs.ErrPermission)

	original, err := os.ReadFile(s.Keytab(cluster.Alice))
	require.NoError(t, err)
	locals, err := filepath.Glob(filepath.Join(s.dir(), "node-*/local"))
	require.NoError(t, err)
	require.Len(t, locals, 2)
	var copies []string
	of := func(application string) (found []string) {
		for _, path := range copies {
			if strings.Contains(path, "appcache/"+application) {
				found = append(found, path)
			}
		}
		return found
	}
	require.Eventually(t, func() bool {
		copies = copiesOf(t, original, locals)
		return len(copies) == 2 && len(of(id)) == 1 && len(of(other)) == 1
	}, testTimeout, 100*time.Millisecond, "only the ApplicationMasters have it, and copies are removed with their applications: %v", &copies)
	local, err := os.Stat(of(id)[0])
	require.NoError(t, err)
	require.Zero(t, local.Mode().Perm()&0o077)
}

func (s *kerberosCluster) dir() string { return filepath.Dir(s.ConfDir()) }

// tokenFiles returns the paths of the credentials files of an application's running containers.
func (s *kerberosCluster) tokenFiles(t *testing.T, id string) []string {
	files, err := filepath.Glob(filepath.Join(s.dir(), "node-*/local/usercache/alice/appcache", id, "container_*/container_tokens"))
	require.NoError(t, err)
	return files
}

// secrets contains byte strings that must be hidden, by description.
type secrets map[string][]byte

// secretsOf returns the secrets in the credentials of an application's containers, and alice's
// keys. It checks that executors have no more secrets than they need.
func (s *kerberosCluster) secretsOf(t *testing.T, id string) secrets {
	found := secrets{}
	masters := 0
	for _, file := range s.tokenFiles(t, id) {
		credentials, err := security.ReadCredentialsFile(file)
		require.NoError(t, err)
		pass, isThere := credentials.Secret(launch.SecretDriver)
		if isThere {
			const magic, size = 8, 32 // offset and size of the secret in the credential
			found["the executors' secret"] = pass[magic : magic+size]
		}
		_, isMaster := credentials.Secret(launch.SecretSpec)
		if isMaster {
			masters++
		}
		// Do not search for the keystore's password. NodeManagers write it, without the
		// keystore, to the environment of the ApplicationMaster and to launch_container.sh in
		// its log directory.
		if key, ok := pageKey(t, credentials); ok {
			require.True(t, isMaster)
			found["the page's key"] = key.PrivateKey.(*rsa.PrivateKey).Primes[0].Bytes()
			found["the page's keystore"], _ = credentials.Secret("yarn.application.am.keystore")
		}
		for alias, token := range credentials.Tokens() {
			found["password of "+token.Kind+" "+alias+" in "+file] = token.Password
			if !isMaster {
				require.Equal(t, security.KindHDFS, token.Kind, "of an executor")
			}
		}
	}
	require.Equal(t, 1, masters)
	require.Contains(t, found, "the executors' secret")
	maps.Copy(found, s.keysOf(t, cluster.Alice))
	require.GreaterOrEqual(t, len(found), 4)
	return found
}

// keysOf returns the keys in a user's keytab.
func (s *kerberosCluster) keysOf(t *testing.T, user string) secrets {
	found := secrets{}
	keys, err := keytab.Load(s.Keytab(user))
	require.NoError(t, err)
	for _, entry := range keys.Entries {
		found["key of "+entry.String()] = entry.Key.KeyValue
	}
	return found
}

// requireNotIn checks that content contains no secret in any encoding.
func (s secrets) requireNotIn(t *testing.T, where string, content []byte) {
	for what, secret := range s {
		for how, form := range encodingsOf(secret) {
			assert.False(t, bytes.Contains(content, form), "%s, %s, in %s", what, how, where)
		}
	}
}

// encodingsOf returns a secret in different encodings, by their names. In base64, a secret
// inside of a longer text has three different forms.
func encodingsOf(secret []byte) map[string][]byte {
	text := hex.EncodeToString(secret)
	all := map[string][]byte{"as it is": secret, "in hexadecimal": []byte(text), "in capital hexadecimal": []byte(strings.ToUpper(text))}
	for shift, lead := range []int{0, 2, 3} { // lead characters depend on the bytes before the secret
		shifted := append(make([]byte, shift), secret...)
		shifted = shifted[:len(shifted)/3*3] // omit characters that depend on the bytes after the secret
		all["in base64"+strings.Repeat("+", shift)] = []byte(base64.RawStdEncoding.EncodeToString(shifted)[lead:])
		all["in base64url"+strings.Repeat("+", shift)] = []byte(base64.RawURLEncoding.EncodeToString(shifted)[lead:])
	}
	return all
}

// readPages returns the responses of web servers to alice about her application, by URL.
func (s *kerberosCluster) readPages(t *testing.T, id string) map[string][]byte {
	login, err := kerberos.Open(t.Context(), kerberos.Options{Principal: cluster.Alice, Keytab: s.Keytab(cluster.Alice), Config: s.Kerberos().Config()})
	require.NoError(t, err)
	defer login.Close()
	client := &http.Client{Transport: login.RoundTripper(http.DefaultTransport)}
	manager := "http://" + s.ResourceManager().Address(cluster.HTTP)
	addresses := []string{
		manager + "/proxy/" + id + "/", manager + "/proxy/" + id + "/api/status",
		manager + "/ws/v1/cluster/apps/" + id, manager + "/ws/v1/cluster/apps/" + id + "/appattempts", manager + "/cluster/app/" + id,
	}
	for _, node := range s.Nodes() {
		base := "http://" + node.HTTPAddress()
		addresses = append(addresses, base+"/ws/v1/node/containers", base+"/ws/v1/node/apps/"+id, base+"/node/allContainers", base+"/conf")
	}
	pages := map[string][]byte{}
	for _, address := range addresses {
		response, err := client.Get(address)
		require.NoError(t, err)
		content, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		if !strings.Contains(address, "/node/apps/") { // a node may have no container of the application
			require.Equal(t, http.StatusOK, response.StatusCode, "%s: %s", address, content)
		}
		pages[address] = content
	}
	return pages
}
