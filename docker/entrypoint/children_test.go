package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheFirstChildThatEndsIsNamed(t *testing.T) {
	c := newChildren()
	require.NoError(t, c.start("stays", []string{"sleep", "60"}, os.Environ()))
	require.NoError(t, c.start("goes", []string{"sh", "-c", "exit 3"}, os.Environ()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	name, status := c.next(ctx)
	assert.Equal(t, "goes", name)
	assert.Equal(t, 3, status.ExitStatus())
	c.end()
	assert.Empty(t, c.names)
}

func TestStartFailsWithoutTheCommand(t *testing.T) {
	c := newChildren()
	assert.ErrorContains(t, c.start("datanode", []string{"no-such-java"}, nil), "starting datanode")
}
