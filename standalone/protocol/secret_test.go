package protocol

import (
	"crypto/ed25519"
	"encoding/hex"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortSecretsAreRefused(t *testing.T) {
	_, err := FromSecret([]byte("  hunter2  "))
	require.ErrorContains(t, err, "has 7 bytes")
}

// TestKeyDerivation checks that the derived key does not change, because all processes of a
// cluster must derive the same key. If the expected key changes, Version must change.
func TestKeyDerivation(t *testing.T) {
	require.Equal(t, 2, Version)
	require.Equal(t, "08ee0d8761884f1961c23be8463aa634860c7e1e9d6858bd7ae54be6f3272e3b", hex.EncodeToString(fromSecret(t, secret).private.Public().(ed25519.PublicKey)))
}

// The derivation of a key must need much memory, so that guessing a secret offline is
// expensive.
func TestKeyDerivationNeedsMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fromSecret(t, secret)
	runtime.ReadMemStats(&after)
	require.Greater(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20))
}

// A secret with keyPrefix is random and cannot be guessed, so Argon2id is not needed.
func TestASecretThatIsAKeyIsNotStretched(t *testing.T) {
	made := NewSecret()
	require.NotEqual(t, made, NewSecret())
	c := fromSecret(t, string(made)+"\n")
	require.Equal(t, made, secretOf(c.private.Seed()))
	require.NoError(t, call(t, serve(t, c), fromSecret(t, string(made)).DialOptions()...))
	for _, damaged := range []string{string(made[:len(made)-1]), string(made) + "0", keyPrefix, keyPrefix + strings.Repeat("x", 64)} {
		_, err := FromSecret([]byte(damaged))
		require.ErrorContains(t, err, "64 hexadecimal digits do not follow: copy it whole", damaged)
		require.NotContains(t, err.Error(), string(made[len(keyPrefix):len(keyPrefix)+8]))
	}
}

// Programs on a worker receive the derived key instead of the secret, because the user may use
// the secret elsewhere too, and because they need not derive the key again.
func TestWriteForChildWritesTheKey(t *testing.T) {
	c := fromSecret(t, secret)
	handed, err := c.WriteForChild(t.TempDir())
	require.NoError(t, err)
	content, err := os.ReadFile(handed["authenticate.secretFile"])
	require.NoError(t, err)
	require.Equal(t, secretOf(c.private.Seed()), content)
}

// BenchmarkFromSecret measures how much time a secret that a user has chosen adds to the start
// of a process.
func BenchmarkFromSecret(b *testing.B) {
	for b.Loop() {
		if _, err := FromSecret([]byte(secret)); err != nil {
			b.Fatal(err)
		}
	}
}
