package protocol

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesOfResources(t *testing.T) {
	require.Nil(t, ToAddresses(map[string][]string{}))
	require.Nil(t, FromAddresses(nil))
	sent := ToAddresses(map[string][]string{"gpu": {"1", "0", "1"}})
	require.Equal(t, map[string][]string{"gpu": {"0", "1"}}, FromAddresses(sent))
	require.Equal(t, []string{"1", "0", "1"}, sent["gpu"].GetAddresses(), "the message stays as it is")
}
