package am

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// attemptOf returns an attempt of the user ann. values are settings, and hadoop are Hadoop
// properties.
func attemptOf(t *testing.T, values, hadoop map[string]string) *Attempt {
	t.Helper()
	settings, err := config.FromMap(values)
	require.NoError(t, err)
	return &Attempt{
		Spec: &launch.Spec{
			User: "ann", Command: []string{"./wordcount", "in", "out"},
			Resources: []launch.LocalResource{
				{Name: "wordcount", URL: "hdfs://nn:8020/wordcount", Size: 1, Timestamp: 2},
				{Name: "data", URL: "hdfs://nn:8020/data.zip", Archive: true},
			},
		},
		Settings: settings,
		Hadoop:   conf.FromMap(hadoop),
	}
}

var containerID = yarn.ContainerID{ID: 7}

func contextOf(t *testing.T, attempt *Attempt) (own, shared yarn.ContainerLaunchContext) {
	t.Helper()
	contexts, err := newExecutorContexts(attempt, "driver:1", []byte("pass"))
	require.NoError(t, err)
	own = contexts.launchContext(launcher.Executor{
		ID:        "3",
		Container: yarn.Container{ID: containerID, Node: yarn.NodeID{Host: "a1", Port: 1}, NodeHTTPAddress: "a1:8042"},
		Profile:   profile.Default(attempt.Settings),
	})
	return own, own.Shared.Context()
}

func TestExecutorEnvironment(t *testing.T) {
	own, shared := contextOf(t, attemptOf(t, map[string]string{
		"executor.cores": "3", "executor.memory": "1000m", "executor.memoryOverhead": "500m",
		"executorEnv.GREETING": `say "$hi"`, "executorEnv.WHERE": "{{NM_HOST}}<CPS><LOG_DIR>", "executorEnv.GOMAXPROCS": "1",
	}, nil))
	require.Equal(t, map[string]string{
		launch.EnvExecutorID: "3", launch.EnvProfile: "0", launch.EnvCores: "3", launch.EnvHost: "a1", launch.EnvMemory: "1572864000",
		launch.EnvLogURL: "http://a1:8042/node/containerlogs/" + containerID.String() + "/ann",
		"GOMEMLIMIT":     "943718400",
	}, own.Env, "the memory limit is of the program's memory, the user's own GOMAXPROCS stays")
	require.Equal(t, map[string]string{
		launch.EnvRole: "executor", launch.EnvDriver: "driver:1", "HADOOP_USER_NAME": "ann",
		"GREETING": `say \"\$hi\"`, "WHERE": "{{NM_HOST}}<CPS><LOG_DIR>", "GOMAXPROCS": "1",
		launch.EnvShuffleService: "auto",
	}, shared.Env)
	for name := range own.Env {
		require.NotContains(t, shared.Env, name)
	}
}

func TestExecutorsUseTheShuffleServiceOfTheirNode(t *testing.T) {
	for _, test := range []struct {
		setting      string
		noAuxService bool
		expectData   bool
		expectEnv    string
	}{
		{"auto", false, true, "auto"},
		{"auto", true, false, "auto"},
		{"required", false, true, "required"},
		{"required", true, false, "required"}, // the executor says what its node lacks
		{"off", false, false, ""},
	} {
		contexts, err := newExecutorContexts(attemptOf(t, map[string]string{"shuffle.service": test.setting}, nil), "driver:1", []byte("pass"))
		require.NoError(t, err)
		shared := contexts.shared(launcher.Executor{NoAuxService: test.noAuxService}).Context()
		data := shared.ServiceData[shufflehandler.ServiceName]
		require.Equal(t, test.expectEnv, shared.Env[launch.EnvShuffleService], "%+v", test)
		if !test.expectData {
			require.Empty(t, data, "%+v", test)
			continue
		}
		require.Equal(t, shufflehandler.ServiceData(shuffle.ServicePassword([]byte("pass"))), data, "%+v", test)
		require.NotContains(t, string(data), "pass", "the service learns the secret of the driver")
	}
}

func TestExecutorFilesCommandAndSecret(t *testing.T) {
	_, shared := contextOf(t, attemptOf(t, nil, nil))
	require.Equal(t, []string{`exec './wordcount' 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr`}, shared.Commands)
	require.Equal(t, map[string]yarn.LocalResource{
		"wordcount": {URL: "hdfs://nn:8020/wordcount", Size: 1, Timestamp: 2, Type: yarn.FileResource, Visibility: yarn.PrivateVisibility},
		"data":      {URL: "hdfs://nn:8020/data.zip", Type: yarn.ArchiveResource, Visibility: yarn.PrivateVisibility},
	}, shared.LocalResources)
	credentials, err := security.ReadCredentials(bytes.NewReader(shared.Tokens))
	require.NoError(t, err)
	pass, ok := credentials.Secret(launch.SecretDriver)
	require.True(t, ok)
	require.Equal(t, "pass", string(pass))
	require.Empty(t, shared.ACLs)
}

func TestExecutorACLsAndLogURLs(t *testing.T) {
	own, shared := contextOf(t, attemptOf(t,
		map[string]string{"acls.enable": "true", "ui.view.acls": "bob", "ui.view.acls.groups": "ops", "modify.acls": "*"},
		map[string]string{"yarn.http.policy": "HTTPS_ONLY"}))
	require.Equal(t, map[yarn.Access]string{yarn.ViewAccess: "bob ops", yarn.ModifyAccess: "*"}, shared.ACLs)
	require.Regexp(t, "^https://a1:8042/", own.Env[launch.EnvLogURL])
}

func TestInvalidResourceURLFailsAtStart(t *testing.T) {
	attempt := attemptOf(t, nil, nil)
	attempt.Spec.Resources[0].URL = "/no/scheme"
	_, err := newExecutorContexts(attempt, "driver:1", nil)
	require.ErrorContains(t, err, `local resource "wordcount"`)
}

// tokenOf returns an HDFS token that is issued now. life is its maximum lifetime.
func tokenOf(sequence byte, life time.Duration) security.Token {
	identifier := make([]byte, 4) // version, owner, renewer, real user
	for _, date := range []time.Time{time.Now(), time.Now().Add(life)} {
		identifier = append(identifier, 0x88) // length of the following integer: eight bytes
		identifier = binary.BigEndian.AppendUint64(identifier, uint64(date.UnixMilli()))
	}
	return security.Token{Kind: security.KindHDFS, Service: "ha-hdfs:ns", Password: []byte("p"), Identifier: append(identifier, sequence, 1)}
}

func TestExecutorsGetNewTokensWhenTheSubmissionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := func(token security.Token) *security.Credentials {
			credentials := &security.Credentials{}
			credentials.SetToken("hdfs://ns", token)
			return credentials
		}
		first, second := tokenOf(1, 7*24*time.Hour), tokenOf(2, 7*24*time.Hour)
		attempt := attemptOf(t, nil, nil)
		attempt.credentials = tokens(first)
		attempt.credentials.SetToken("", security.Token{Kind: security.KindAMRM})
		contexts, err := newExecutorContexts(attempt, "driver:1", []byte("pass"))
		require.NoError(t, err)
		tokenNow := func() security.Token {
			credentials, err := security.ReadCredentials(bytes.NewReader(contexts.shared(launcher.Executor{}).Context().Tokens))
			require.NoError(t, err)
			_, isThere := credentials.TokenOfKind(security.KindAMRM)
			require.False(t, isThere)
			pass, _ := credentials.Secret(launch.SecretDriver)
			require.Equal(t, "pass", string(pass))
			token, isThere := credentials.Token("hdfs://ns")
			require.True(t, isThere)
			return token
		}
		require.NoError(t, contexts.renew(tokens(second)))
		require.Equal(t, first, tokenNow(), "the ResourceManager renews it")
		time.Sleep(7*24*time.Hour - 10*time.Minute)
		require.Equal(t, second, tokenNow())
		third := tokenOf(3, time.Hour)
		require.NoError(t, contexts.renew(tokens(third)))
		require.Equal(t, third, tokenNow())
	})
}
