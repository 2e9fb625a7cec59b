package keystore

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf16"

	"golang.org/x/crypto/cryptobyte"
)

// jksMagic is the start of every JKS keystore.
var jksMagic = []byte{0xfe, 0xed, 0xfe, 0xed}

// Kinds of entries in a JKS keystore.
const (
	keyEntry     = 1
	trustedEntry = 2
)

var errTruncated = errors.New("is no JKS keystore, or is not complete")

// jksEntry is an entry of a JKS keystore.
type jksEntry struct {
	kind  uint32
	alias string
	key   []byte   // private key of a keyEntry, encrypted (see decryptKey)
	chain [][]byte // certificates; a trustedEntry has one
}

// decodeJKS returns the entries of a JKS keystore (the format of
// sun.security.provider.JavaKeyStore). It verifies the digest only if password is not empty.
func decodeJKS(content []byte, password string) ([]jksEntry, error) {
	end := len(content) - sha1.Size
	if end < len(jksMagic) || !bytes.HasPrefix(content, jksMagic) {
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
		return nil, fmt.Errorf("is a JKS keystore of version %d: want 1 or 2", version)
	}
	var entries []jksEntry
	for range count {
		entry, ok := readEntry(&in, version)
		if !ok {
			return nil, errTruncated
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func readEntry(in *cryptobyte.String, version uint32) (entry jksEntry, ok bool) {
	var alias cryptobyte.String
	const date = 8
	if !in.ReadUint32(&entry.kind) || !in.ReadUint16LengthPrefixed(&alias) || !in.Skip(date) {
		return entry, false
	}
	entry.alias = string(alias)
	length := uint32(1)
	if entry.kind == keyEntry {
		if entry.key, ok = readLong(in); !ok || !in.ReadUint32(&length) {
			return entry, false
		}
	}
	for range length {
		certificate, ok := readCertificate(in, version)
		if !ok {
			return entry, false
		}
		entry.chain = append(entry.chain, certificate)
	}
	return entry, true
}

// readLong reads a field of variable length: its length in 4 bytes, then its content.
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

// jksDigest returns the digest at the end of a JKS keystore. content is the rest of the
// keystore.
func jksDigest(content []byte, password string) []byte {
	digest := sha1.New()
	digest.Write(utf16BE(password))
	digest.Write([]byte("Mighty Aphrodite"))
	digest.Write(content)
	return digest.Sum(nil)
}

// utf16BE returns a password in big-endian UTF-16, as Java's keystores use it in digests.
func utf16BE(password string) (encoded []byte) {
	for _, unit := range utf16.Encode([]rune(password)) {
		encoded = binary.BigEndian.AppendUint16(encoded, unit)
	}
	return encoded
}
