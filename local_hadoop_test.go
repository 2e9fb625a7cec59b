package bobbin

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestALocalMasterTakesTheSettingsOfHadoop(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"hadoop.fs.defaultFS": "hdfs://mine"})
	require.NoError(t, err)
	directory := t.TempDir()
	site := "<configuration><property><name>fs.defaultFS</name><value>hdfs://site</value></property></configuration>"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "core-site.xml"), []byte(site), 0o600))
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"} {
		t.Setenv(name, "")
	}
	for _, there := range []string{"", directory} {
		t.Setenv("HADOOP_CONF_DIR", there)
		local, err := newLocal(settings, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.Equal(t, "hdfs://mine", local.hadoop.DefaultFS())
	}
}
