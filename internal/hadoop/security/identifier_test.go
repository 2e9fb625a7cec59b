package security

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// identifierOf encodes an identifier as Java does.
func identifierOf(i Identifier) []byte {
	b := []byte{0}
	for _, text := range []string{i.Owner, i.Renewer, i.RealUser} {
		b = appendBytes(b, text)
	}
	b = writable.AppendVInt(writable.AppendVInt(b, i.Issued.UnixMilli()), i.MaxDate.UnixMilli())
	return writable.AppendVInt(writable.AppendVInt(b, 7), 2) // sequence number and master key
}

func TestIdentifierOfADelegationToken(t *testing.T) {
	// The NameNode's bytes for alice@BOBBIN.TEST, renewer rm, on 2023-11-14.
	bytes, err := hex.DecodeString("0011" + hex.EncodeToString([]byte("alice@BOBBIN.TEST")) + "02" + hex.EncodeToString([]byte("rm")) + "00" +
		"8a018bcfe56800" + "8a018bf3f1ec00" + "0702")
	require.NoError(t, err)
	want := Identifier{Owner: "alice@BOBBIN.TEST", Renewer: "rm", Issued: time.UnixMilli(1700000000000), MaxDate: time.UnixMilli(1700000000000).Add(7 * 24 * time.Hour)}
	require.Equal(t, bytes, identifierOf(want))
	token := Token{Kind: KindHDFS, Identifier: bytes}
	got, err := token.ParseIdentifier()
	require.NoError(t, err)
	require.True(t, want.MaxDate.Equal(got.MaxDate))
	require.True(t, want.Issued.Equal(got.Issued))
	require.Equal(t, want.Owner, got.Owner)
	require.Equal(t, want.Renewer, got.Renewer)

	for n := range 33 {
		_, err := Token{Kind: KindHDFS, Identifier: bytes[:n]}.ParseIdentifier()
		require.Error(t, err)
	}
	_, err = Token{Kind: KindAMRM, Identifier: bytes}.ParseIdentifier()
	require.ErrorContains(t, err, "its kind is not HDFS_DELEGATION_TOKEN")
	_, err = Token{Kind: KindHDFS, Identifier: []byte{3}}.ParseIdentifier()
	require.ErrorContains(t, err, "version is 3")
}

func FuzzParseIdentifier(f *testing.F) {
	f.Add(identifierOf(Identifier{Owner: "alice", RealUser: "gateway@BOBBIN.TEST"}))
	f.Fuzz(func(t *testing.T, identifier []byte) {
		_, _ = Token{Kind: KindHDFS, Identifier: identifier}.ParseIdentifier()
	})
}
