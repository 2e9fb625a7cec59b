package protocol

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"golang.org/x/crypto/argon2"
)

// MinSecretBytes is the minimum length of a shared secret.
const MinSecretBytes = 16

// Keys are derived from secrets with Argon2id (RFC 9106), at the lowest cost that OWASP's
// Password Storage Cheat Sheet recommends. Anyone who can connect to a master can obtain its
// certificate and test guesses of the secret offline, so each guess must cost memory and time.
// The salt is constant, because the secret is all that the cluster's processes share. If one
// of these constants changes, Version must change.
const (
	stretchSalt    = "bobbin standalone cluster, TLS key, version 2"
	stretchPasses  = 2
	stretchMemory  = 19 << 10 // KiB
	stretchThreads = 1
)

// keyPrefix is the prefix of a secret that is a random key in hexadecimal. Argon2id is not
// needed for such a secret.
const keyPrefix = "bobbin-key:"

// NewSecret returns a random secret.
func NewSecret() []byte {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed) // never fails
	return secretOf(seed)
}

// secretOf encodes the seed of a key as a secret.
func secretOf(seed []byte) []byte { return hex.AppendEncode([]byte(keyPrefix), seed) }

// seedOf derives the seed of the cluster's key from a secret. It fails if the secret is too
// short, or if it has keyPrefix but no valid key.
func seedOf(secret []byte) ([]byte, error) {
	if encoded, ok := bytes.CutPrefix(secret, []byte(keyPrefix)); ok {
		seed, err := hex.AppendDecode(nil, encoded)
		if err != nil || len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("the cluster's secret begins with %q, and %d hexadecimal digits do not follow: copy it whole",
				keyPrefix, 2*ed25519.SeedSize)
		}
		return seed, nil
	}
	if len(secret) < MinSecretBytes {
		return nil, fmt.Errorf("the cluster's secret has %d bytes: it needs %d or more that nobody can guess, such as "+
			"`openssl rand -hex 32` prints", len(secret), MinSecretBytes)
	}
	return argon2.IDKey(secret, []byte(stretchSalt), stretchPasses, stretchMemory, stretchThreads, ed25519.SeedSize), nil
}
