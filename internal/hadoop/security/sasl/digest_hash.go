package sasl

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Names and limits in RFC 2831. Sizes are in bytes.
const (
	digestName = "DIGEST-MD5"
	// maxChallenge (2.1.1) and maxResponse (2.1.2) are the largest message sizes.
	maxChallenge = 2048
	maxResponse  = 4096
	// defaultMaxBuf is the maxbuf (largest wrapped piece) of a peer that sends none.
	defaultMaxBuf = 65536
	maxMaxBuf     = 1<<24 - 1  // largest value of maxbuf, a number of 24 bits
	firstUse      = "00000001" // the nonce count (nc), always 1: each nonce is used once
	// noBody is appended to A2 if messages are signed or encrypted. In HTTP's digest
	// authentication, A2 has the hash of a body in its place.
	noBody = ":00000000000000000000000000000000"
)

// digest contains the values from which the client and the server compute their hashes.
type digest struct {
	username, realm, password string
	nonce, cnonce             string
	authzid                   string
	uri                       string
	qop                       QOP
}

// sessionKey returns H(A1) of RFC 2831, from which both sides derive responses and keys.
func (d digest) sessionKey() [md5.Size]byte {
	secret := md5.Sum([]byte(d.encode(d.username) + ":" + d.encode(d.realm) + ":" + d.encode(d.password)))
	a1 := string(secret[:]) + ":" + d.nonce + ":" + d.cnonce
	if d.authzid != "" {
		a1 += ":" + d.authzid
	}
	return md5.Sum([]byte(a1))
}

// response returns the proof that one side knows the password: the client's proof if verb is
// AUTHENTICATE, the server's proof if verb is "".
func (d digest) response(verb string) string {
	a2 := verb + ":" + d.uri
	if d.qop != Auth {
		a2 += noBody
	}
	key, h2 := d.sessionKey(), md5.Sum([]byte(a2))
	proof := md5.Sum([]byte(strings.Join([]string{
		hex.EncodeToString(key[:]), d.nonce, firstUse, d.cnonce, string(d.qop), hex.EncodeToString(h2[:]),
	}, ":")))
	return hex.EncodeToString(proof[:])
}

// encode returns s in ISO 8859-1 if that character set has all characters of s, or else s
// unchanged. RFC 2831 and Java do this even if the charset is UTF-8.
func (d digest) encode(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0xff {
			return s
		}
		b.WriteByte(byte(r))
	}
	return b.String()
}

// newNonce returns 30 random bytes in hexadecimal. Java's nonces have 30 bytes too.
func newNonce(random io.Reader) (string, error) {
	var b [30]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("make a nonce: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
