package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogsIsRefusedIfLogsCannotBePrinted(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", t.TempDir())
	for _, args := range [][]string{
		{"--json"}, {"--detach"}, {"--deploy-mode", "client"}, {"--master", "local-cluster[1,1,1024]"},
	} {
		said := &bytes.Buffer{}
		require.Equal(t, 2, execute(append(append([]string{"submit", "--logs"}, args...), "./program"), &bytes.Buffer{}, said), args)
		require.Contains(t, said.String(), "--logs")
	}
}
