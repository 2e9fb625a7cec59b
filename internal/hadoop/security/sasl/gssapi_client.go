package sasl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	gssapiName = "GSSAPI"
	// gssapiOverhead is an upper limit of the bytes that a context adds to a piece: two headers
	// of 16 bytes, a confounder of 16 bytes, and a checksum of up to 24 bytes.
	gssapiOverhead = 128
)

// SecurityContext is the client's side of a GSSAPI context, such as a kerberos.Context.
type SecurityContext interface {
	// Establish verifies the server's answer to the context's first token.
	Establish(answer []byte) error
	// Wrap returns a wrap token that contains data: encrypted if sealed is true, or else with a
	// checksum.
	Wrap(data []byte, sealed bool) ([]byte, error)
	// Unwrap verifies a wrap token of the server, returns its data, and reports whether it was
	// encrypted.
	Unwrap(token []byte) (data []byte, sealed bool, err error)
}

// gssapiBits are the bits that stand for qualities of protection in the server's offer and in the
// client's answer (RFC 4752, 3.1).
var gssapiBits = map[QOP]byte{Auth: 1, AuthInt: 2, AuthConf: 4}

// gssapiClient is the client's side of an exchange (RFC 4752, 3.1). Step does not return the
// context's first token, which the caller sends.
type gssapiClient struct {
	context     SecurityContext
	qops        []QOP
	established bool
	complete    bool
	layer       Layer
}

// NewGSSAPIClient returns the client's side of a GSSAPI exchange. The caller must send the
// context's first token. qops are the acceptable qualities of protection, the preferred one
// first.
func NewGSSAPIClient(context SecurityContext, qops []QOP) Mechanism {
	return &gssapiClient{context: context, qops: qops}
}

func (c *gssapiClient) Name() string   { return gssapiName }
func (c *gssapiClient) Complete() bool { return c.complete }
func (c *gssapiClient) Layer() Layer   { return c.layer }

func (c *gssapiClient) Step(message []byte) ([]byte, error) {
	var answer []byte
	var err error
	switch {
	case c.complete && len(message) == 0:
	case c.complete:
		err = errors.New("the exchange is over")
	case !c.established:
		err = c.context.Establish(message)
		c.established = err == nil
		answer = []byte{}
	default:
		answer, err = c.choose(message)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gssapiName, err)
	}
	return answer, nil
}

// choose selects a quality of protection from the server's offer, sets the layer, and returns
// the answer to the server.
func (c *gssapiClient) choose(message []byte) ([]byte, error) {
	offer, sealed, err := c.context.Unwrap(message)
	if err != nil {
		return nil, err
	}
	if sealed || len(offer) != 4 {
		return nil, errors.New("the server's offer of qualities of protection is malformed")
	}
	at := slices.IndexFunc(c.qops, func(q QOP) bool { return offer[0]&gssapiBits[q] != 0 })
	if at < 0 {
		return nil, fmt.Errorf("the server offers quality of protection %q where %q is wanted (hadoop.rpc.protection)", qopsOf(offer[0]), c.qops)
	}
	qop := c.qops[at]
	choice := make([]byte, 4)
	if qop != Auth {
		binary.BigEndian.PutUint32(choice, defaultMaxBuf)
		peerMaxBuf := int(binary.BigEndian.Uint32(offer) & maxMaxBuf)
		if peerMaxBuf <= gssapiOverhead {
			return nil, fmt.Errorf("the server takes wrapped pieces of %d bytes only, which leaves no room for data", peerMaxBuf)
		}
		c.layer = &gssapiLayer{context: c.context, qop: qop, maxPiece: peerMaxBuf - gssapiOverhead}
	}
	choice[0] = gssapiBits[qop]
	answer, err := c.context.Wrap(choice, false)
	c.complete = err == nil
	return answer, err
}

func qopsOf(mask byte) []QOP {
	var offered []QOP
	for _, q := range []QOP{Auth, AuthInt, AuthConf} {
		if mask&gssapiBits[q] != 0 {
			offered = append(offered, q)
		}
	}
	return offered
}

type gssapiLayer struct {
	context  SecurityContext
	qop      QOP
	maxPiece int
}

func (l *gssapiLayer) QOP() QOP      { return l.qop }
func (l *gssapiLayer) MaxPiece() int { return l.maxPiece }

func (l *gssapiLayer) Wrap(piece []byte) ([]byte, error) {
	return l.context.Wrap(piece, l.qop == AuthConf)
}

func (l *gssapiLayer) Unwrap(wrapped []byte) ([]byte, error) {
	piece, sealed, err := l.context.Unwrap(wrapped)
	if err == nil && sealed != (l.qop == AuthConf) {
		err = fmt.Errorf("a message is not protected by %s, which was agreed on", l.qop)
	}
	if err != nil {
		return nil, err
	}
	return piece, nil
}
