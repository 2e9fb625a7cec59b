package keystore

import (
	"crypto"
	"crypto/sha1"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"slices"
)

// DecodeKey returns the first private key in a JKS keystore, with its certificates. The
// keystore and the key have the same password.
func DecodeKey(content []byte, password string) (tls.Certificate, error) {
	entries, err := decodeJKS(content, password)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("keystore: %w", err)
	}
	i := slices.IndexFunc(entries, func(e jksEntry) bool { return e.kind == keyEntry })
	if i < 0 {
		return tls.Certificate{}, errors.New("keystore: holds no private key")
	}
	key, err := decryptKey(entries[i].key, password)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("keystore: the key %q: %w", entries[i].alias, err)
	}
	return tls.Certificate{Certificate: entries[i].chain, PrivateKey: key}, nil
}

// keyProtector identifies the algorithm with which JKS keystores encrypt private keys.
var keyProtector = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 42, 2, 17, 1, 1}

// decryptKey decrypts and parses a private key of a JKS keystore
// (sun.security.provider.KeyProtector). The encrypted key consists of a salt, the PKCS #8 key
// XORed with a chain of digests of password and salt, and a digest of password and key.
func decryptKey(encoded []byte, password string) (crypto.PrivateKey, error) {
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	if _, err := asn1.Unmarshal(encoded, &info); err != nil {
		return nil, err
	}
	if !info.Algorithm.Algorithm.Equal(keyProtector) {
		return nil, fmt.Errorf("its encryption %v is not that of JKS", info.Algorithm.Algorithm)
	}
	size := len(info.Data) - 2*sha1.Size
	if size < 0 {
		return nil, errors.New("it is not complete")
	}
	last, key, check := info.Data[:sha1.Size], info.Data[sha1.Size:sha1.Size+size], info.Data[sha1.Size+size:]
	secret := utf16BE(password)
	plain := make([]byte, size)
	for at := 0; at < size; at += sha1.Size {
		next := sha1.Sum(slices.Concat(secret, last))
		last = next[:]
		subtle.XORBytes(plain[at:], key[at:], last)
	}
	if sum := sha1.Sum(slices.Concat(secret, plain)); subtle.ConstantTimeCompare(sum[:], check) != 1 {
		return nil, errors.New("its password is another than the keystore's")
	}
	return x509.ParsePKCS8PrivateKey(plain)
}
