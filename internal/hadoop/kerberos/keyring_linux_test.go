package kerberos

import (
	"context"
	"crypto/rand"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// TestCacheInAKeyring lets kinit write tickets into the kernel's keyrings. Where the kernel forbids
// keyrings, as in some containers, the error must name the remedy.
func TestCacheInAKeyring(t *testing.T) {
	kdc, _ := startKDC(t)
	name := "bobbin-" + rand.Text()
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); err != nil {
		t.Setenv(cacheVariable, "KEYRING:user:"+name)
		_, err = Open(t.Context(), Options{})
		require.ErrorContains(t, err, "export KRB5CCNAME=FILE:$HOME/.krb5cc and run kinit")
		return
	}
	for _, cache := range []string{"KEYRING:session:" + name, "KEYRING:user:" + name, "KEYRING:persistent:" + strconv.Itoa(os.Getuid()) + ":" + name} {
		t.Run(cache, func(t *testing.T) {
			t.Setenv(cacheVariable, cache)
			_, err := Open(t.Context(), Options{})
			require.ErrorContains(t, err, "no Kerberos ticket: there is no ticket cache "+cache+" (KRB5CCNAME): run kinit")

			t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				_ = exec.CommandContext(ctx, "kdestroy", "-q", "-c", cache).Run() // fails if kinit has failed
			})
			require.NoError(t, kdc.Init(t.Context(), cache, "alice", "geheim"))
			alice, err := Open(t.Context(), Options{})
			require.NoError(t, err)
			defer alice.Close()
			require.Equal(t, "alice@"+kdctest.Realm, alice.Principal())
			require.WithinDuration(t, time.Now().Add(24*time.Hour), alice.Expires(), time.Minute)
			_, _, err = alice.NewContext(t.Context(), "nn/host")
			require.NoError(t, err)
			description, err := alice.Describe()
			require.NoError(t, err)
			require.Equal(t, "the ticket cache "+cache+" (KRB5CCNAME)", description.Source)
		})
	}
	t.Setenv(cacheVariable, "KEYRING:thread:"+name)
	_, err := Open(t.Context(), Options{})
	require.ErrorContains(t, err, "bobbin reads keyrings of the kinds session, user and persistent only")
	require.ErrorContains(t, err, "export KRB5CCNAME=FILE:$HOME/.krb5cc and run kinit")
}
