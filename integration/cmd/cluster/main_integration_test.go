//go:build integration

package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestUpWithKerberos logs in with what up prints.
func TestUpWithKerberos(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr strings.Builder
	t.Cleanup(func() {
		assert.Zero(t, run(context.Background(), []string{"-dir", dir, "down"}, io.Discard, io.Discard))
	})
	require.Zero(t, run(t.Context(), []string{"-dir", dir, "-kerberos", "up"}, &stdout, &stderr), &stderr)
	assert.Equal(t, "export HADOOP_CONF_DIR="+filepath.Join(dir, "client")+"\nexport KRB5_CONFIG="+filepath.Join(dir, "kdc", "krb5.conf")+
		"\nexport KRB5CCNAME=FILE:"+filepath.Join(dir, "tickets")+"\n", stdout.String())
	c, err := cluster.Attach(dir)
	require.NoError(t, err)
	for _, user := range []string{cluster.Alice, cluster.Bob, cluster.Gateway} {
		assert.Contains(t, stderr.String(), user+" has the keytab "+c.Keytab(user)+"\n")
		login := exec.CommandContext(t.Context(), "sh", "-c", stdout.String()+`kinit -kt "$0" "$1" && klist -s`, c.Keytab(user), user)
		output, err := login.CombinedOutput()
		assert.NoError(t, err, "%s", output)
	}
	assert.FileExists(t, filepath.Join(dir, "tickets"))
}

func TestUpStatusDown(t *testing.T) {
	dir := t.TempDir()
	var stderr strings.Builder
	command := func(args ...string) (exit int, stdout string) {
		stderr.Reset()
		var out strings.Builder
		exit = run(t.Context(), append([]string{"-dir", dir}, args...), &out, &stderr)
		return exit, out.String()
	}
	t.Cleanup(func() {
		assert.Zero(t, run(context.Background(), []string{"-dir", dir, "down"}, io.Discard, io.Discard))
	})

	export := "export HADOOP_CONF_DIR=" + filepath.Join(dir, "client") + "\n"
	exit, stdout := command("up")
	require.Zero(t, exit, stderr.String())
	assert.Equal(t, export, stdout, "the shell evaluates all of standard output")

	exit, stdout = command("up")
	assert.Zero(t, exit, stderr.String())
	assert.Equal(t, export, stdout)
	assert.Contains(t, stderr.String(), "already runs")

	exit, stdout = command("status")
	assert.Zero(t, exit, stderr.String())
	assert.Equal(t, 7, strings.Count(stdout, "\n"), "a heading and six daemons: %s", stdout)

	c, err := cluster.Attach(dir)
	require.NoError(t, err)
	require.NoError(t, c.NameNode().Kill())
	exit, stdout = command("up")
	assert.Equal(t, exitFailed, exit)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr.String(), "namenode has ended")
	assert.Contains(t, stderr.String(), "run down, then up again")
	exit, stdout = command("status")
	assert.Equal(t, exitFailed, exit)
	assert.Contains(t, stdout, "ended")

	exit, stdout = command("down")
	assert.Zero(t, exit, stderr.String())
	assert.Empty(t, stdout)
	for _, daemon := range c.Daemons() {
		assert.Zero(t, daemon.PID(), daemon.Name())
	}
}
