package kerberos

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Identifiers of the tokens that set up a context (RFC 4121, 4.1).
var (
	tokenAPReq = []byte{1, 0}
	tokenAPRep = []byte{2, 0}
	tokenError = []byte{3, 0}
)

const (
	wrapHeader = 16 // bytes before the data of a wrap token (RFC 4121, 4.2.6.2)

	flagAcceptor       = 1 // the server sent the token
	flagSealed         = 2 // the token is encrypted, not only protected by a checksum
	flagAcceptorSubkey = 4 // the token's key is the subkey that the server chose
)

// Context is the client's side of a GSSAPI security context with one server. One call of
// Wrap and one call of Unwrap may run at the same time, but not two calls of the same
// method.
type Context struct {
	service       string
	authenticator types.Authenticator
	sessionKey    types.EncryptionKey
	established   bool

	// Establish sets the following fields.
	key            types.EncryptionKey
	encryption     etype.EType
	acceptorSubkey bool   // key is the subkey that the service has chosen
	sent, received uint64 // sequence numbers of the next tokens
}

// NewContext returns a context for a connection to a service, such as "nn/host.example.com@REALM",
// and the first token to send to the server. Without a realm in service, domain_realm in krb5.conf
// decides or, if it does not name the host, the KDC of the user's realm. The caller passes the server's answer to
// [Context.Establish].
func (c *Client) NewContext(ctx context.Context, service string) (*Context, []byte, error) {
	ticket, key, err := c.ticket(ctx, service)
	if err != nil {
		return nil, nil, err
	}
	if _, err := crypto.GetEtype(key.KeyType); err != nil {
		return nil, nil, fmt.Errorf("kerberos: the ticket for %s: %w", service, err)
	}
	c.mu.Lock()
	user := c.library.Credentials
	c.mu.Unlock()
	x := &Context{service: service, sessionKey: key}
	if x.authenticator, err = types.NewAuthenticator(user.Domain(), user.CName()); err != nil {
		return nil, nil, err
	}
	// Use the size of the ticket's key, because gokrb5 has a wrong size for the type
	// aes256-cts-hmac-sha384-192.
	if err := x.authenticator.GenerateSeqNumberAndSubKey(key.KeyType, len(key.KeyValue)); err != nil {
		return nil, nil, err
	}
	wanted := gssapi.ContextFlagMutual | gssapi.ContextFlagReplay | gssapi.ContextFlagSequence | gssapi.ContextFlagConf | gssapi.ContextFlagInteg
	// The checksum field consists of the length of the channel bindings, the bindings (zeros,
	// because there are none) and the flags (RFC 4121, 4.1.1).
	sum := make([]byte, 24)
	binary.LittleEndian.PutUint32(sum, 16)
	binary.LittleEndian.PutUint32(sum[20:], uint32(wanted))
	x.authenticator.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	request, err := messages.NewAPReq(ticket, key, x.authenticator)
	if err != nil {
		return nil, nil, err
	}
	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	encoded, err := request.Marshal()
	if err != nil {
		return nil, nil, err
	}
	mechanism, err := asn1.Marshal(gssapi.OIDKRB5.OID())
	if err != nil {
		return nil, nil, err
	}
	return x, asn1tools.AddASNAppTag(append(append(mechanism, tokenAPReq...), encoded...), 0), nil
}

// Establish verifies the server's answer to the first token and sets the context's keys. It
// fails if the server does not prove that it has the service's key.
func (x *Context) Establish(answer []byte) error {
	if x.established {
		return errors.New("the Kerberos context is already established")
	}
	var mechanism asn1.ObjectIdentifier
	inner, err := asn1.UnmarshalWithParams(answer, &mechanism, "application,explicit,tag:0")
	if err != nil || !mechanism.Equal(gssapi.OIDKRB5.OID()) || len(inner) < 2 {
		return fmt.Errorf("kerberos: the answer of %s is malformed", x.service)
	}
	kind, body := inner[:2], inner[2:]
	if bytes.Equal(kind, tokenError) {
		var refusal messages.KRBError
		if err := refusal.Unmarshal(body); err != nil {
			return fmt.Errorf("kerberos: %s refuses the ticket and does not say why", x.service)
		}
		if remedy := remedies[refusal.ErrorCode]; remedy != "" {
			return fmt.Errorf("kerberos: %s refuses the ticket: %s (%w)", x.service, remedy, refusal)
		}
		return fmt.Errorf("kerberos: %s refuses the ticket: %w", x.service, refusal)
	}
	var reply messages.APRep
	if !bytes.Equal(kind, tokenAPRep) {
		return fmt.Errorf("kerberos: the answer of %s is no AP-REP", x.service)
	}
	if err := reply.Unmarshal(body); err != nil {
		return fmt.Errorf("kerberos: the answer of %s: %w", x.service, err)
	}
	plain, err := crypto.DecryptEncPart(reply.EncPart, x.sessionKey, keyusage.AP_REP_ENCPART)
	if err != nil {
		return fmt.Errorf("kerberos: %s does not have the service's key: %w", x.service, err)
	}
	var part messages.EncAPRepPart
	if err := part.Unmarshal(plain); err != nil {
		return fmt.Errorf("kerberos: the answer of %s: %w", x.service, err)
	}
	if part.CTime.Unix() != x.authenticator.CTime.Unix() || part.Cusec != x.authenticator.Cusec {
		return fmt.Errorf("kerberos: the answer of %s is to another request", x.service)
	}
	x.key = x.authenticator.SubKey
	if len(part.Subkey.KeyValue) > 0 {
		x.key, x.acceptorSubkey = part.Subkey, true
	}
	if x.encryption, err = crypto.GetEtype(x.key.KeyType); err != nil {
		return err
	}
	x.sent, x.received = uint64(x.authenticator.SeqNumber), uint64(uint32(part.SequenceNumber))
	x.established = true
	return nil
}

// Wrap returns a wrap token that contains data: encrypted if sealed is true, or else in plain
// text with a checksum.
func (x *Context) Wrap(data []byte, sealed bool) ([]byte, error) {
	if !x.established {
		return nil, errors.New("the Kerberos context is not established")
	}
	header := make([]byte, wrapHeader, wrapHeader+len(data)+wrapHeader)
	header[0], header[1], header[3] = 5, 4, 0xff
	if sealed {
		header[2] |= flagSealed
	}
	if x.acceptorSubkey {
		header[2] |= flagAcceptorSubkey
	}
	binary.BigEndian.PutUint64(header[8:], x.sent)
	plain := append(bytes.Clone(data), header...)
	if sealed {
		_, encrypted, err := x.encryption.EncryptMessage(x.key.KeyValue, plain, keyusage.GSSAPI_INITIATOR_SEAL)
		if err != nil {
			return nil, err
		}
		x.sent++
		return append(header, encrypted...), nil
	}
	sum, err := x.encryption.GetChecksumHash(x.key.KeyValue, plain, keyusage.GSSAPI_INITIATOR_SEAL)
	if err != nil {
		return nil, err
	}
	x.sent++
	binary.BigEndian.PutUint16(header[4:], uint16(len(sum)))
	return append(append(header, data...), sum...), nil
}

var errWrap = errors.New("kerberos: a wrapped message is malformed")

// Unwrap verifies a wrap token of the server and returns its data. sealed reports whether the
// token was encrypted.
func (x *Context) Unwrap(token []byte) (data []byte, sealed bool, err error) {
	if !x.established {
		return nil, false, errors.New("the Kerberos context is not established")
	}
	if len(token) < wrapHeader || token[0] != 5 || token[1] != 4 || token[3] != 0xff || token[2]&flagAcceptor == 0 {
		return nil, false, errWrap
	}
	if subkey := token[2]&flagAcceptorSubkey != 0; subkey != x.acceptorSubkey {
		return nil, false, errWrap
	}
	sealed = token[2]&flagSealed != 0
	extra, rotation := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	number := binary.BigEndian.Uint64(token[8:])
	body := token[wrapHeader:]
	if len(body) == 0 {
		return nil, false, errWrap
	}
	rotation %= len(body)
	body = append(bytes.Clone(body[rotation:]), body[:rotation]...)
	header := bytes.Clone(token[:wrapHeader])
	header[6], header[7] = 0, 0 // the copy that the checksum or the encryption protects has rotation 0
	if sealed {
		if len(body) < x.encryption.GetConfounderByteSize()+x.encryption.GetHMACBitLength()/8 {
			return nil, false, errWrap
		}
		plain, err := x.encryption.DecryptMessage(x.key.KeyValue, body, keyusage.GSSAPI_ACCEPTOR_SEAL)
		if err != nil {
			return nil, false, fmt.Errorf("kerberos: a message was changed on its way: %w", err)
		}
		if len(plain) < extra+wrapHeader || !bytes.Equal(plain[len(plain)-wrapHeader:], header) {
			return nil, false, errWrap
		}
		data = plain[:len(plain)-wrapHeader-extra]
	} else {
		if extra != x.encryption.GetHMACBitLength()/8 || len(body) < extra {
			return nil, false, errWrap
		}
		data = body[:len(body)-extra]
		header[4], header[5] = 0, 0
		if !x.encryption.VerifyChecksum(x.key.KeyValue, append(bytes.Clone(data), header...), body[len(body)-extra:], keyusage.GSSAPI_ACCEPTOR_SEAL) {
			return nil, false, errors.New("kerberos: a message was changed on its way: its checksum does not fit")
		}
	}
	if number != x.received {
		return nil, false, fmt.Errorf("kerberos: message %d came where %d was due", number, x.received)
	}
	x.received++
	return data, sealed, nil
}
