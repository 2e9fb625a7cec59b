package recovery_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
)

// FuzzUnseal checks that Seal returns the same bytes for every record that Unseal accepts.
func FuzzUnseal(f *testing.F) {
	f.Add("app", "1", recovery.Seal(recovery.Record{Kind: "app", ID: "1", Data: []byte("content")}))
	f.Add("app", "1", recovery.Seal(recovery.Record{Kind: "app", ID: "1"}))
	f.Add("a", "pp1", []byte("bbr\x01"))
	f.Add("", "", []byte{})
	f.Fuzz(func(t *testing.T, kind, id string, sealed []byte) {
		r, err := recovery.Unseal(kind, id, sealed)
		if err != nil {
			return
		}
		if again := recovery.Seal(r); !bytes.Equal(again, sealed) {
			t.Errorf("%x was read as what is written %x", sealed, again)
		}
	})
}

func TestUnseal(t *testing.T) {
	whole := recovery.Record{Kind: "app", ID: "1", Data: []byte("content")}
	sealed := recovery.Seal(whole)
	r, err := recovery.Unseal("app", "1", sealed)
	require.NoError(t, err)
	assert.Equal(t, whole, r)

	for _, name := range [][2]string{{"app", "2"}, {"worker", "1"}, {"ap", "p1"}} {
		_, err := recovery.Unseal(name[0], name[1], sealed)
		assert.Error(t, err, "a record is none of another name: %v", name)
	}
	for i := range sealed {
		for bit := range 8 {
			changed := bytes.Clone(sealed)
			changed[i] ^= 1 << bit
			_, err := recovery.Unseal("app", "1", changed)
			assert.Error(t, err, "bit %d of byte %d is changed", bit, i)
		}
	}
}
