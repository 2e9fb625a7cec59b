package sasl

import (
	"crypto/cipher"
	"crypto/des"
	"crypto/md5"
	"crypto/rc4"
	"errors"
	"fmt"
	"slices"
)

// digestCipher is a cipher of DIGEST-MD5, by its name in the protocol.
type digestCipher string

const (
	cipher3DES  digestCipher = "3des"
	cipherRC4   digestCipher = "rc4"
	cipherDES   digestCipher = "des"
	cipherRC456 digestCipher = "rc4-56"
	cipherRC440 digestCipher = "rc4-40"
)

// digestCiphers returns the ciphers, the strongest first, in Java's order of preference.
func digestCiphers() []digestCipher {
	return []digestCipher{cipher3DES, cipherRC4, cipherDES, cipherRC456, cipherRC440}
}

// pickCipher returns the strongest of the offered ciphers.
func pickCipher(offered []string) (digestCipher, error) {
	for _, known := range digestCiphers() {
		if slices.Contains(offered, string(known)) {
			return known, nil
		}
	}
	return "", fmt.Errorf("none of the ciphers offered (%q) is known: the server must offer one of %q", offered, digestCiphers())
}

// keyBytes returns the number of bytes of H(A1) from which the cipher's key is derived (RFC
// 2831, 2.4).
func (c digestCipher) keyBytes() int {
	switch c {
	case cipherRC440:
		return 5
	case cipherRC456:
		return 7
	default:
		return md5.Size
	}
}

// crypter encrypts or decrypts one direction of a connection, as one long stream.
type crypter struct {
	stream cipher.Stream
	block  cipher.BlockMode
}

// newCrypter returns the crypter of the direction whose sealing key is key. The crypter
// encrypts if encrypt is true, or else decrypts.
func newCrypter(name digestCipher, key [md5.Size]byte, encrypt bool) (*crypter, error) {
	var block cipher.Block
	var err error
	switch name {
	case cipherRC4, cipherRC456, cipherRC440:
		stream, err := rc4.NewCipher(key[:])
		return &crypter{stream: stream}, err
	case cipherDES:
		block, err = des.NewCipher(desKey(key[:7]))
	case cipher3DES:
		first, second := desKey(key[:7]), desKey(key[7:14])
		block, err = des.NewTripleDESCipher(slices.Concat(first, second, first))
	default:
		return nil, fmt.Errorf("cipher %q is not known", name)
	}
	if err != nil {
		return nil, err
	}
	// The initialization vector is the last 8 bytes of the sealing key (RFC 2831, 2.4).
	iv := key[md5.Size-des.BlockSize:]
	if encrypt {
		return &crypter{block: cipher.NewCBCEncrypter(block, iv)}, nil
	}
	return &crypter{block: cipher.NewCBCDecrypter(block, iv)}, nil
}

// desKey spreads 56 bits over the upper 7 bits of 8 bytes. The lowest bit of each byte is a
// parity bit, which DES ignores.
func desKey(bits []byte) []byte {
	key := make([]byte, 8)
	for i := range 56 {
		if bits[i/8]&(0x80>>(i%8)) != 0 {
			key[i/7] |= 0x80 >> (i % 7)
		}
	}
	return key
}

// seal returns message, padding and mac, encrypted together.
func (c *crypter) seal(message, mac []byte) []byte {
	out := make([]byte, 0, len(message)+len(mac)+des.BlockSize+trailerSize)
	out = append(out, message...)
	if c.block != nil {
		pad := des.BlockSize - (len(message)+len(mac))%des.BlockSize
		for range pad {
			out = append(out, byte(pad))
		}
	}
	out = append(out, mac...)
	if c.stream != nil {
		c.stream.XORKeyStream(out, out)
	} else {
		c.block.CryptBlocks(out, out)
	}
	return out
}

var errSealed = errors.New("a sealed message is malformed")

// open decrypts a result of seal for a message and a MAC of macSize bytes.
func (c *crypter) open(sealed []byte, macSize int) (message, mac []byte, err error) {
	if len(sealed) < macSize || c.block != nil && len(sealed)%des.BlockSize != 0 {
		return nil, nil, errSealed
	}
	plain := make([]byte, len(sealed))
	if c.stream != nil {
		c.stream.XORKeyStream(plain, sealed)
		return plain[:len(plain)-macSize], plain[len(plain)-macSize:], nil
	}
	c.block.CryptBlocks(plain, sealed)
	message, mac = plain[:len(plain)-macSize], plain[len(plain)-macSize:]
	if len(message) == 0 {
		return nil, nil, errSealed
	}
	pad := int(message[len(message)-1])
	if pad < 1 || pad > des.BlockSize || pad > len(message) {
		return nil, nil, errSealed
	}
	return message[:len(message)-pad], mac, nil
}
