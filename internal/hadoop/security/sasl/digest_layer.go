package sasl

import (
	"crypto/hmac"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	macSize      = 10 // bytes of each HMAC that are sent
	trailerSize  = 6  // bytes after the MAC: message type (always 1) and sequence number
	confOverhead = 26 // largest number of bytes that encryption and the MAC add, as in Java
)

// Constants from which the signing and sealing keys are derived. They differ for the two
// directions, so that the keys differ, too (RFC 2831, 2.3 and 2.4).
const (
	signClient = "Digest session key to client-to-server signing key magic constant"
	signServer = "Digest session key to server-to-client signing key magic constant"
	sealClient = "Digest H(A1) to client-to-server sealing key magic constant"
	sealServer = "Digest H(A1) to server-to-client sealing key magic constant"
)

// digestLayer is the security layer of DIGEST-MD5. It signs messages and, for
// AuthConf, encrypts them.
type digestLayer struct {
	qop      QOP
	maxPiece int
	out, in  direction
}

// direction is the state of one direction of a connection. The MAC covers the message's number,
// so that a dropped, repeated or reordered message is detected.
type direction struct {
	signKey [md5.Size]byte
	crypter *crypter
	number  uint32
}

// newDigestLayer returns the security layer of the client or, if client is false, of the
// server. It returns nil for QOP Auth. key is H(A1). The parameter name is the name of the
// cipher, for AuthConf. peerMaxBuf is the largest wrapped piece, in bytes, that the peer accepts.
func newDigestLayer(key [md5.Size]byte, qop QOP, name digestCipher, client bool, peerMaxBuf int) (Layer, error) {
	if qop == Auth {
		return nil, nil
	}
	layer := &digestLayer{qop: qop, maxPiece: peerMaxBuf - macSize - trailerSize}
	if qop == AuthConf {
		layer.maxPiece = peerMaxBuf - confOverhead
	}
	if layer.maxPiece <= 0 {
		return nil, fmt.Errorf("the peer takes wrapped pieces of %d bytes only, which leaves no room for data", peerMaxBuf)
	}
	signOut, signIn, sealOut, sealIn := signClient, signServer, sealClient, sealServer
	if !client {
		signOut, signIn, sealOut, sealIn = signIn, signOut, sealIn, sealOut
	}
	layer.out.signKey = md5.Sum(append(key[:], signOut...))
	layer.in.signKey = md5.Sum(append(key[:], signIn...))
	if qop != AuthConf {
		return layer, nil
	}
	short := key[:name.keyBytes():name.keyBytes()]
	var err error
	if layer.out.crypter, err = newCrypter(name, md5.Sum(append(short, sealOut...)), true); err != nil {
		return nil, err
	}
	layer.in.crypter, err = newCrypter(name, md5.Sum(append(short, sealIn...)), false)
	return layer, err
}

func (l *digestLayer) QOP() QOP      { return l.qop }
func (l *digestLayer) MaxPiece() int { return l.maxPiece }

func (l *digestLayer) Wrap(piece []byte) ([]byte, error) {
	mac := l.out.mac(piece)
	var wrapped []byte
	if l.out.crypter != nil {
		wrapped = l.out.crypter.seal(piece, mac)
	} else {
		wrapped = make([]byte, 0, len(piece)+macSize+trailerSize)
		wrapped = append(append(wrapped, piece...), mac...)
	}
	wrapped = append(wrapped, 0, 1)
	wrapped = binary.BigEndian.AppendUint32(wrapped, l.out.number)
	l.out.number++
	return wrapped, nil
}

func (l *digestLayer) Unwrap(wrapped []byte) ([]byte, error) {
	if len(wrapped) < macSize+trailerSize {
		return nil, fmt.Errorf("a wrapped message of %d bytes is too short", len(wrapped))
	}
	body, trailer := wrapped[:len(wrapped)-trailerSize], wrapped[len(wrapped)-trailerSize:]
	if binary.BigEndian.Uint16(trailer) != 1 {
		return nil, errors.New("a wrapped message is not of type 1")
	}
	if number := binary.BigEndian.Uint32(trailer[2:]); number != l.in.number {
		return nil, fmt.Errorf("wrapped message %d came where %d was due", number, l.in.number)
	}
	message, mac := body[:len(body)-macSize], body[len(body)-macSize:]
	if l.in.crypter != nil {
		var err error
		if message, mac, err = l.in.crypter.open(body, macSize); err != nil {
			return nil, err
		}
	}
	if !hmac.Equal(mac, l.in.mac(message)) {
		return nil, fmt.Errorf("wrapped message %d was changed on its way: its signature does not fit", l.in.number)
	}
	l.in.number++
	return message, nil
}

// mac returns the MAC of message as the next message in this direction.
func (d *direction) mac(message []byte) []byte {
	hash := hmac.New(md5.New, d.signKey[:])
	var number [4]byte
	binary.BigEndian.PutUint32(number[:], d.number)
	hash.Write(number[:])
	hash.Write(message)
	return hash.Sum(nil)[:macSize]
}
