package truststore

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
)

// jksMagic is the start of every JKS truststore.
var jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}

// Kinds of entries in a JKS truststore.
const (
	keyEntry     = 1
	trustedEntry = 2
)

var errTruncated = errors.New("is no JKS truststore, or is not complete")

// decodeJKS returns the trusted certificates in a JKS truststore (the format of
// sun.security.provider.JavaKeyStore), and checks the digest if password is not empty.
func decodeJKS(content []byte, password string) ([]*x509.Certificate, error) {
	end := len(content) - sha1.Size
	if end < len(jksMagic) {
		return nil, errTruncated
	}
	if password != "" && !bytes.Equal(content[end:], jksDigest(content[:end], password)) {
		return nil, errors.New("its password is another, or it was damaged")
	}
	in := cryptobyte.String(content[len(jksMagic):end])
	var version, count uint32
	if !in.ReadUint32(&version) || !in.ReadUint32(&count) {
		return nil, errTruncated
	}
	if version != 1 && version != 2 {
		return nil, fmt.Errorf("is a JKS truststore of version %d: want 1 or 2", version)
	}
	var certificates []*x509.Certificate
	for range count {
		var kind uint32
		var alias cryptobyte.String
		const date = 8
		if !in.ReadUint32(&kind) || !in.ReadUint16LengthPrefixed(&alias) || !in.Skip(date) {
			return nil, errTruncated
		}
		chain := uint32(1)
		if kind == keyEntry {
			if _, ok := readLong(&in); !ok || !in.ReadUint32(&chain) {
				return nil, errTruncated
			}
		}
		for range chain {
			encoded, ok := readCertificate(&in, version)
			if !ok {
				return nil, errTruncated
			}
			if kind != trustedEntry {
				continue
			}
			certificate, err := x509.ParseCertificate(encoded)
			if err != nil {
				return nil, fmt.Errorf("the certificate %q: %w", alias, err)
			}
			certificates = append(certificates, certificate)
		}
	}
	return certificates, nil
}

// readLong reads a length of 4 bytes and that many bytes.
func readLong(in *cryptobyte.String) (read []byte, ok bool) {
	var size uint32
	ok = in.ReadUint32(&size) && uint64(size) <= uint64(len(*in)) && in.ReadBytes(&read, int(size))
	return read, ok
}

func readCertificate(in *cryptobyte.String, version uint32) (encoded []byte, ok bool) {
	var kind cryptobyte.String
	if version == 2 && !in.ReadUint16LengthPrefixed(&kind) {
		return nil, false
	}
	return readLong(in)
}

// jksDigest returns the digest at the end of a JKS truststore.
func jksDigest(content []byte, password string) []byte {
	digest := sha1.New()
	for _, unit := range utf16.Encode([]rune(password)) {
		digest.Write(binary.BigEndian.AppendUint16(nil, unit))
	}
	digest.Write([]byte("Mighty Aphrodite"))
	digest.Write(content)
	return digest.Sum(nil)
}
