//go:build integration

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// closedAddress is an address at which no process listens.
const closedAddress = "127.0.0.1:1"

// configurationWith returns a copy of the cluster's client configuration directory, in which
// replacement replaces the text old.
func configurationWith(t *testing.T, old, replacement string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(shared.hadoop.ConfDir() + "/*.xml")
	require.NoError(t, err)
	replaced := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		replaced += strings.Count(string(content), old)
		content = []byte(strings.ReplaceAll(string(content), old, replacement))
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), content, 0o644))
	}
	require.Positive(t, replaced)
	return dir
}

func TestSubmitNamesTheResourceManagerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := configurationWith(t, shared.hadoop.ResourceManager().Address(cluster.HTTP), closedAddress)
	done := commandLine{
		args:        []string{"submit", program("trouble"), "succeed", "1"},
		environment: []string{"HADOOP_CONF_DIR=" + dir},
	}.run(t)
	assert.Equal(t, 3, done.code)
	assert.Regexp(t, `no ResourceManager answered within \d+(\.\d+)?s: http://`+closedAddress+`: .*connection refused`, done.lastLine())
}

func TestSubmitNamesTheNameNodeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir := configurationWith(t, shared.hadoop.NameNode().Address(cluster.RPC), closedAddress)
	done := commandLine{
		args:        []string{"submit", program("trouble"), "succeed", "1"},
		environment: []string{"HADOOP_CONF_DIR=" + dir},
	}.run(t)
	assert.Equal(t, 3, done.code)
	assert.Regexp(t, `hdfs://`+closedAddress+`/.* at `+closedAddress+` failed after \d+(\.\d+)?s in \d+ tries: .*connection refused`, done.lastLine())
}
