package kerberos

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/stretchr/testify/require"
)

// acceptor is the server's side of a context.
type acceptor struct {
	t      *testing.T
	key    types.EncryptionKey
	number uint64
	subkey bool
}

// accept returns the server's answer to a client's first token. If subkey is true, the server
// chooses the key of the context, as MIT's servers do. If subkey is false, the context uses the
// client's key, as with Java's servers.
func accept(t *testing.T, token []byte, keytabPath string, subkey bool) (*acceptor, []byte) {
	keys, err := keytab.Load(keytabPath)
	require.NoError(t, err)
	var mechanism asn1.ObjectIdentifier
	inner, err := asn1.UnmarshalWithParams(token, &mechanism, "application,explicit,tag:0")
	require.NoError(t, err)
	require.Equal(t, tokenAPReq, inner[:2])
	var request messages.APReq
	require.NoError(t, request.Unmarshal(inner[2:]))
	require.NoError(t, request.Ticket.DecryptEncPart(keys, &request.Ticket.SName))
	session := request.Ticket.DecryptedEncPart.Key
	require.NoError(t, request.DecryptAuthenticator(session))
	a := &acceptor{t: t, key: request.Authenticator.SubKey, number: 4711, subkey: subkey}
	part := messages.EncAPRepPart{CTime: request.Authenticator.CTime, Cusec: request.Authenticator.Cusec, SequenceNumber: int64(a.number)}
	if subkey {
		a.key = types.EncryptionKey{KeyType: session.KeyType, KeyValue: bytes.Repeat([]byte{7}, len(session.KeyValue))}
		part.Subkey = a.key
	}
	plain, err := asn1.Marshal(part)
	require.NoError(t, err)
	sealed, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(plain, asnAppTag.EncAPRepPart), session, keyusage.AP_REP_ENCPART, 0)
	require.NoError(t, err)
	reply, err := asn1.Marshal(messages.APRep{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: sealed})
	require.NoError(t, err)
	oid, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	require.NoError(t, err)
	return a, asn1tools.AddASNAppTag(append(append(oid, tokenAPRep...), asn1tools.AddASNAppTag(reply, asnAppTag.APREP)...), 0)
}

// wrap returns a wrap token of the server. Its body is rotated by rotation bytes, as by some
// servers.
func (a *acceptor) wrap(data []byte, sealed bool, rotation int) []byte {
	encryption, err := crypto.GetEtype(a.key.KeyType)
	require.NoError(a.t, err)
	header := []byte{5, 4, flagAcceptor, 0xff, 0, 0, 0, 0}
	if a.subkey {
		header[2] |= flagAcceptorSubkey
	}
	if sealed {
		header[2] |= flagSealed
	}
	header = binary.BigEndian.AppendUint64(header, a.number)
	a.number++
	plain := append(bytes.Clone(data), header...)
	var body []byte
	if sealed {
		_, body, err = encryption.EncryptMessage(a.key.KeyValue, plain, keyusage.GSSAPI_ACCEPTOR_SEAL)
	} else {
		var sum []byte
		sum, err = encryption.GetChecksumHash(a.key.KeyValue, plain, keyusage.GSSAPI_ACCEPTOR_SEAL)
		binary.BigEndian.PutUint16(header[4:], uint16(len(sum)))
		body = append(bytes.Clone(data), sum...)
	}
	require.NoError(a.t, err)
	binary.BigEndian.PutUint16(header[6:], uint16(rotation))
	at := len(body) - rotation%len(body)
	return append(header, append(bytes.Clone(body[at:]), body[:at]...)...)
}

func TestContext(t *testing.T) {
	_, keytabPath := startKDC(t)
	bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytabPath})
	require.NoError(t, err)
	defer bob.Close()
	for name, subkey := range map[string]bool{"the client's key": false, "the server's key": true} {
		t.Run(name, func(t *testing.T) {
			x, token, err := bob.NewContext(t.Context(), "nn/host")
			require.NoError(t, err)
			_, err = x.Wrap([]byte("early"), true)
			require.ErrorContains(t, err, "not established")
			server, answer := accept(t, token, keytabPath, subkey)
			require.NoError(t, x.Establish(answer))
			for _, sealed := range []bool{false, true} {
				for _, rotation := range []int{0, 1, 12, 28, 1000} {
					data, got, err := x.Unwrap(server.wrap([]byte("from the server"), sealed, rotation))
					require.NoError(t, err)
					require.Equal(t, "from the server", string(data))
					require.Equal(t, sealed, got)
				}
				wrapped, err := x.Wrap([]byte("from the client"), sealed)
				require.NoError(t, err)
				require.Equal(t, !sealed, bytes.Contains(wrapped, []byte("from the client")))
			}
			good := server.wrap([]byte("data"), true, 0)
			for i := range good {
				bad := bytes.Clone(good)
				bad[i] ^= 0x40
				_, _, err := x.Unwrap(bad)
				// Unwrap detects even a changed rotation, because the change is no multiple of
				// the body's length.
				require.Error(t, err, "byte %d was changed", i)
			}
			_, _, err = x.Unwrap(good)
			require.NoError(t, err)
			_, _, err = x.Unwrap(good)
			require.ErrorContains(t, err, "where", "a repeated message")
		})
	}
}

func TestImpostors(t *testing.T) {
	_, keytabPath := startKDC(t)
	bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytabPath})
	require.NoError(t, err)
	defer bob.Close()
	_, token, err := bob.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
	_, replayed := accept(t, token, keytabPath, false)
	x, _, err := bob.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
	require.ErrorContains(t, x.Establish(replayed), "to another request")
	require.ErrorContains(t, x.Establish(nil), "malformed")
	require.ErrorContains(t, x.Establish(token), "no AP-REP")
	_, _, err = x.Unwrap(nil)
	require.ErrorContains(t, err, "not established")
}
