//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestDriverRefusesPeersWithoutTheSecret(t *testing.T) {
	t.Parallel()
	_, id := startWaiting(t)
	address := application(t, id).AMRPCAddress
	anyServer := grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}))
	other, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(other.Pass())
	require.NoError(t, err)

	for _, test := range []struct {
		name    string
		options []grpc.DialOption
		header  string
		code    codes.Code
	}{
		{"no secret", []grpc.DialOption{anyServer}, "", codes.Unauthenticated},
		{"another secret", []grpc.DialOption{anyServer}, "Bearer " + base64.StdEncoding.EncodeToString(make([]byte, 32)), codes.Unauthenticated},
		{"an empty secret", []grpc.DialOption{anyServer}, "Bearer ", codes.Unauthenticated},
		{"another application's pass", pass.DialOptions(), "", codes.Unavailable},
		{"no TLS", []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}, "", codes.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			connection, err := grpc.NewClient("passthrough:///"+address, test.options...)
			require.NoError(t, err)
			defer func() { assert.NoError(t, connection.Close()) }()
			ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
			defer cancel()
			if test.header != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", test.header)
			}
			driver := wire.NewDriverClient(connection)
			_, err = driver.Bootstrap(ctx, &wire.BootstrapRequest{ExecutorId: "1"})
			assert.Equal(t, test.code, status.Code(err), "%v", err)

			stream, err := driver.Attach(ctx)
			if err == nil {
				_ = stream.Send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "3", Host: "127.0.0.11", Cores: 1}})
				_, err = stream.Recv()
			}
			assert.Equal(t, test.code, status.Code(err), "%v", err)
		})
	}
	joined := awaitTasks(t, id, 2)
	assert.Equal(t, 2, joined.Executors.Running, "nobody else has joined")
}

// TestSecretIsOnlyInTheCredentials searches for the secret with which executors authenticate to
// the driver in all places that other users could read.
func TestSecretIsOnlyInTheCredentials(t *testing.T) {
	t.Parallel()
	_, id := startWaiting(t)
	assertSecretHidden(t, id)
}

// assertSecretHidden searches for the secret of a running application with two executors, in
// command lines, environments and the status page. Then it kills the application and searches
// in all logs.
func assertSecretHidden(t *testing.T, id string) {
	t.Helper()
	executors := processesInRole(id, launch.RoleExecutor, "trouble")
	require.Len(t, executors, 2)
	held, err := security.ReadCredentialsFile(executors[0].root() + variable(executors[0].environ, "HADOOP_TOKEN_FILE_LOCATION"))
	require.NoError(t, err)
	pass, found := held.Secret(launch.SecretDriver)
	require.True(t, found)
	const magic, size = 8, 32 // offset and size of the secret in the credential
	secret := pass[magic : magic+size]

	assertHidden := func(where string, content []byte) {
		for how, text := range map[string][]byte{
			"as it is":           secret,
			"in hexadecimal":     []byte(hex.EncodeToString(secret)),
			"in base64":          []byte(base64.RawStdEncoding.EncodeToString(secret)),
			"in base64url":       []byte(base64.RawURLEncoding.EncodeToString(secret)),
			"the pass in base64": []byte(base64.StdEncoding.EncodeToString(pass))[:48],
		} {
			assert.False(t, bytes.Contains(content, text), "%s, %s", where, how)
		}
	}
	all := processes(id)
	require.GreaterOrEqual(t, len(all), 3, "an ApplicationMaster and two executors")
	for _, p := range all {
		assertHidden("command line of "+p.container, p.commandLine)
		assertHidden("environment of "+p.container, p.environ)
	}
	page, err := shared.rest.Proxy(t.Context(), id, "/api/status")
	require.NoError(t, err)
	assertHidden("status page", page)

	require.Equal(t, 0, yarnSubmit(t, "kill", id).code)
	logs := 0
	for _, node := range shared.hadoop.Nodes() {
		files, err := filepath.Glob(filepath.Join(node.LogDir, id, "*", "*"))
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			assertHidden(file, content)
			logs++
		}
	}
	assert.Greater(t, logs, 6, "stdout and stderr of three containers, and more")
	for _, daemon := range shared.hadoop.Daemons() {
		if daemon.LogFile() == "" {
			continue // the daemon's log is not on this machine
		}
		content, err := os.ReadFile(daemon.LogFile())
		require.NoError(t, err)
		assertHidden(daemon.LogFile(), content)
	}
}
