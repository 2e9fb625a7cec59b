//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage/storagetest"
)

func TestStorageOnHDFS(t *testing.T) {
	t.Parallel()
	base, err := shared.files.Qualify(shared.data + "/storage")
	require.NoError(t, err)
	storagetest.Suite(t, shared.files, base)
}
