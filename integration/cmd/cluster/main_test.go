package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		exit int
		want string // expected text on standard error
	}{
		"no command":      {nil, exitUsage, "Usage: cluster [flags] up|down|status"},
		"unknown command": {[]string{"restart"}, exitUsage, "Usage: cluster"},
		"two commands":    {[]string{"up", "down"}, exitUsage, "Usage: cluster"},
		"unknown flag":    {[]string{"-nodes", "3", "up"}, exitUsage, "not defined: -nodes"},
		"help":            {[]string{"-h"}, 0, "-hadoop"},
		"bad directory":   {[]string{"-dir", "/a b", "up"}, exitFailed, "choose another"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			assert.Equal(t, test.exit, run(t.Context(), test.args, &stdout, &stderr))
			assert.Contains(t, stderr.String(), test.want)
			assert.Empty(t, stdout.String())
		})
	}
}

func TestStatusFailsWithoutACluster(t *testing.T) {
	dir := t.TempDir()
	var stdout, stderr strings.Builder
	assert.Equal(t, exitFailed, run(t.Context(), []string{"-dir", dir, "status"}, &stdout, &stderr))
	assert.Zero(t, run(t.Context(), []string{"-dir", dir, "down"}, &stdout, &stderr), "there is nothing to stop")
	assert.Contains(t, stderr.String(), "no cluster here")
	assert.Empty(t, stdout.String())
}
