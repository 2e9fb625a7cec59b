//go:build integration

package kerberos

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

// testTokensAreCancelled runs an application with a keytab in each deploy mode, and saves the
// tokens of its containers. When the application has ended, the NameNodes must refuse these
// tokens: the ResourceManager cancels those of the submission, and bobbin those that it has
// obtained with the keytab.
func (s *kerberosCluster) testTokensAreCancelled(t *testing.T) {
	var applications sync.WaitGroup
	defer applications.Wait()
	ended := map[string]*commandResult{}
	modes := []string{"cluster", "client"}
	for _, mode := range modes {
		args := append([]string{"submit", "--deploy-mode", mode, "--num-executors", "1", "--name", "cancelled-" + mode,
			"--conf", "kerberos.access.hadoopFileSystems=hdfs://" + cluster.West}, s.keytab(cluster.Alice)...)
		result := &commandResult{}
		ended[mode] = result
		s.submitted++
		applications.Go(func() {
			*result = s.run(t, append(args, s.programs+"/steady", "/user/alice/cancelled-"+mode, "2", "11s")...)
		})
	}
	saved := map[string]security.Token{} // by password
	for _, mode := range modes {
		id, before := s.running(t, "cancelled-"+mode), len(saved)
		require.Eventually(t, func() bool {
			for _, path := range s.tokenFiles(t, id) {
				credentials, err := security.ReadCredentialsFile(path)
				if err != nil {
					continue // the NodeManager has not written the whole file
				}
				for _, token := range credentials.Tokens() {
					if token.Kind == security.KindHDFS {
						saved[string(token.Password)] = token
					}
				}
			}
			return len(saved) >= before+4
		}, testTimeout, 100*time.Millisecond, "of two nameservices, the submission's and others")
	}
	for _, token := range saved {
		require.NoError(t, s.useToken(t, token))
	}

	applications.Wait()
	for _, mode := range modes {
		require.Equal(t, 0, ended[mode].code, ended[mode].stderr)
		require.NotContains(t, ended[mode].stderr, "not cancelled")
	}
	for _, token := range saved {
		var err error
		require.Eventually(t, func() bool {
			err = s.useToken(t, token)
			return err != nil
		}, testTimeout, 100*time.Millisecond, "%s", token.Service)
		require.ErrorIs(t, err, ipc.InvalidToken)
	}
	s.testTokensOfRefusedSubmission(t)
}

// testTokensOfRefusedSubmission submits with a staging directory that alice may not make, and
// checks that the submission's tokens are cancelled.
func (s *kerberosCluster) testTokensOfRefusedSubmission(t *testing.T) {
	cancelled := func() (count int) {
		for _, namenode := range s.NameNodes() {
			log, err := os.ReadFile(namenode.LogFile())
			require.NoError(t, err)
			count += bytes.Count(log, []byte("Token cancellation requested for identifier"))
		}
		return count
	}
	before := cancelled()
	r := s.run(t, "submit", "--conf", "yarn.stagingDir=/", "--conf", "kerberos.access.hadoopFileSystems=hdfs://"+cluster.West, s.programs+"/pi", "4")
	require.Equal(t, 3, r.code, r.stderr)
	require.Contains(t, r.stderr, "ermission denied")
	require.Equal(t, before+2, cancelled(), "one of each nameservice")
}

// useToken makes a request to the NameNode of a token, on a new connection with this token.
func (s *kerberosCluster) useToken(t *testing.T, token security.Token) error {
	hadoop, err := conf.Load(s.ConfDir())
	require.NoError(t, err)
	tokens := &security.Credentials{}
	tokens.SetToken("", token)
	files := storage.New(storage.Options{Hadoop: hadoop, User: cluster.Alice, Tokens: tokens})
	defer func() { require.NoError(t, files.Close()) }()
	_, err = files.Stat(t.Context(), "hdfs://"+strings.TrimPrefix(token.Service, "ha-hdfs:")+"/")
	return err
}
