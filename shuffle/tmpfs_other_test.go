//go:build !linux

package shuffle

import "testing"

func tmpfs(t *testing.T, _ int) string {
	t.Skip("needs a tmpfs")
	return ""
}
