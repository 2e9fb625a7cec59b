package main

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRacks(t *testing.T) {
	table := "worker-1 /rack-a\n\nworker-2\t/rack-b\nonly-a-name\nworker-3 /rack-b\n"
	lookup := func(_ context.Context, name string) ([]string, error) {
		switch name {
		case "worker-1":
			return []string{"10.0.0.1", "fe80::1"}, nil
		case "worker-2":
			return []string{"10.0.0.2"}, nil
		}
		return nil, errors.New("no such host")
	}
	hosts := []string{"10.0.0.2", "worker-1", "fe80::1", "10.0.0.3", "worker-3", "only-a-name"}
	assert.Equal(t, []string{"/rack-b", "/rack-a", "/rack-a", "/default-rack", "/rack-b", "/default-rack"},
		racks(t.Context(), table, hosts, lookup))
	assert.Empty(t, racks(t.Context(), table, nil, lookup))
}
