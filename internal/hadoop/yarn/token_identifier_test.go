package yarn

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

// identifier returns a token whose identifier is written, in hexadecimal. Hadoop's class wrote
// it for container_e17_1410901177871_0001_01_000005 or for the container's attempt.
func identifier(t *testing.T, kind, written string) security.Token {
	t.Helper()
	b, err := hex.DecodeString(written)
	require.NoError(t, err)
	return security.Token{Identifier: b, Kind: kind}
}

func TestContainerTokenOfHadoop(t *testing.T) {
	container, err := ParseContainerIdentifier(identifier(t, "ContainerToken",
		"0a17120d0a090801108fec8d8288291001188580808080a004120b6e6f6465313a34353435341a05616c696365222b08801010031a140a09"+
			"6d656d6f72792d6d621080101a024d6920001a0e0a0676636f72657310031a00200028c09fbaffbc3130053880d095ffbc314202080448a0"+
			"dd9bffbc315a0060026801700078ffffffffffffffffff01"))
	require.NoError(t, err)
	require.Equal(t, ContainerIdentifier{
		Container:    containerNumber(17<<40 | 5),
		NodeAddress:  "node1:45454",
		User:         "alice",
		Resource:     Resource{MemoryMB: 2048, VCores: 3},
		Priority:     4,
		Created:      time.UnixMilli(1700000100000),
		Expires:      time.UnixMilli(1700000600000),
		KeyID:        5,
		RMIdentifier: 1700000000000,
	}, container)
}

func TestTokensOfAnotherKindAreRefused(t *testing.T) {
	_, err := ParseContainerIdentifier(security.Token{Kind: "NMToken"})
	require.ErrorContains(t, err, `a token of kind "ContainerToken" is needed`)
	_, err = ParseContainerIdentifier(security.Token{Kind: "ContainerToken", Identifier: []byte{0xff}, Password: []byte("geheim")})
	require.ErrorContains(t, err, "identifier of token kind")
	require.NotContains(t, err.Error(), "geheim")
}

func TestAMRMToken(t *testing.T) {
	c := &security.Credentials{}
	_, err := AMRMToken(c)
	require.ErrorIs(t, err, ErrNoAMRMToken)
	c.SetToken("timeline", security.Token{Kind: "TIMELINE"})
	want := security.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: security.KindAMRM}
	c.SetToken("", want)
	got, err := AMRMToken(c)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
