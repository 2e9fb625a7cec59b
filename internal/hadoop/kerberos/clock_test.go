package kerberos

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClockOfTheKDC logs in, and requests a service ticket, at a KDC whose clock differs by ten
// minutes. The error must name the difference of the clocks.
func TestClockOfTheKDC(t *testing.T) {
	kdc, keytab := startKDC(t)
	for _, offset := range []string{"+10m", "-10m"} {
		t.Run(offset, func(t *testing.T) {
			shifted := kdc.Shifted(t, offset)
			t.Setenv(configVariable, shifted.Config())
			_, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
			require.ErrorContains(t, err, "the clocks of this machine and the KDC differ by more than five minutes")

			require.NoError(t, shifted.Init(t.Context(), os.Getenv(cacheVariable), "alice", "geheim"))
			alice, err := Open(t.Context(), Options{})
			if err == nil {
				defer alice.Close()
				_, _, err = alice.NewContext(t.Context(), "nn/host")
			}
			require.ErrorContains(t, err, "the clocks of this machine and the KDC differ by more than five minutes")
		})
	}
}
