//go:build kerberos

package kerberos

import (
	"os"
	"regexp"
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

// testTokensAreCancelled runs an application with a keytab in each deploy mode. When they have
// ended, all tokens that the NameNodes have issued must be cancelled: those of the submissions by
// the ResourceManager, and by bobbin those that it has obtained with the keytab. The NameNodes must
// refuse tokens of containers.
func (s *kerberosCluster) testTokensAreCancelled(t *testing.T) {
	var applications sync.WaitGroup
	defer applications.Wait()
	ended := map[string]*commandResult{"cluster": {}, "client": {}}
	for mode, result := range ended {
		args := append([]string{"submit", "--deploy-mode", mode, "--num-executors", "1", "--name", "cancelled-" + mode,
			"--conf", "kerberos.access.hadoopFileSystems=hdfs://" + cluster.West}, s.keytabFlags(cluster.Alice)...)
		s.submitted++
		applications.Go(func() {
			*result = s.run(t, append(args, s.programs+"/steady", "/user/alice/cancelled-"+mode, "2", "11s")...)
		})
	}
	id := s.running(t, "cancelled-cluster")
	saved := map[string]security.Token{} // by password
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
		return len(saved) >= 2
	}, testTimeout, 100*time.Millisecond, "those of the submission, for two nameservices")
	for _, token := range saved {
		require.NoError(t, s.useToken(t, token))
	}

	applications.Wait()
	for _, result := range ended {
		require.Equal(t, 0, result.code, result.stderr)
		require.NotContains(t, result.stderr, "not cancelled")
	}
	var issued int
	var valid []string
	require.Eventually(t, func() bool { // until the ResourceManager has cancelled the submissions' tokens
		issued, valid = s.issuedTokens(t)
		return len(valid) == 0
	}, testTimeout, 100*time.Millisecond, "%v", &valid)
	require.GreaterOrEqual(t, issued, 8)
	for _, token := range saved {
		require.ErrorIs(t, s.useToken(t, token), ipc.InvalidToken)
	}

	// A submission fails after it has obtained tokens, as alice may not make its staging directory.
	r := s.run(t, "submit", "--conf", "yarn.stagingDir=/", "--conf", "kerberos.access.hadoopFileSystems=hdfs://"+cluster.West, s.programs+"/pi", "4")
	require.Equal(t, 3, r.code, r.stderr)
	after, valid := s.issuedTokens(t)
	require.Equal(t, issued+2, after)
	require.Empty(t, valid)
}

var (
	issuedToken    = regexp.MustCompile(`Creating password for identifier: \(.*? sequenceNumber=(\d+)`)
	cancelledToken = regexp.MustCompile(`Token cancellation requested for identifier: \(.*? sequenceNumber=(\d+)`)
)

// issuedTokens returns how many delegation tokens the NameNodes have issued, and which of them have
// not been cancelled, by the NameNodes' logs.
func (s *kerberosCluster) issuedTokens(t *testing.T) (issued int, valid []string) {
	for _, namenode := range s.NameNodes() {
		log, err := os.ReadFile(namenode.LogFile())
		require.NoError(t, err)
		cancelled := map[string]bool{}
		for _, match := range cancelledToken.FindAllSubmatch(log, -1) {
			cancelled[string(match[1])] = true
		}
		for _, match := range issuedToken.FindAllSubmatch(log, -1) {
			if issued++; !cancelled[string(match[1])] {
				valid = append(valid, namenode.Name()+" "+string(match[1]))
			}
		}
	}
	return issued, valid
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
