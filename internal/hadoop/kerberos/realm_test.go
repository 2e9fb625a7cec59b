package kerberos

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// TestUserOfAnotherRealm requests tickets for services of a realm that trusts the user's realm.
func TestUserOfAnotherRealm(t *testing.T) {
	const home = "HOME.TEST"
	kdc, keys := startKDC(t)
	trusted := kdc.StartTrusted(t, home)
	require.NoError(t, trusted.AddUser(t.Context(), "alice", "geheim"))
	require.NoError(t, trusted.AddKeytab(t.Context(), keys, "carol"))
	both := trusted.Config() + ":" + kdc.Config()
	t.Setenv(configVariable, both)
	require.NoError(t, trusted.Init(t.Context(), os.Getenv(cacheVariable), "alice", "geheim"))
	services, err := keytab.Load(keys)
	require.NoError(t, err)
	for user, options := range map[string]Options{"alice": {}, "carol": {Principal: "carol", Keytab: keys}} {
		t.Run(user, func(t *testing.T) {
			client, err := Open(t.Context(), options)
			require.NoError(t, err)
			defer client.Close()
			require.Equal(t, user+"@"+home, client.Principal())
			_, _, err = (&Service{Client: client, Principal: "nn/_HOST"}).Connect(t.Context(), "host:8020", "nn", "host")
			require.ErrorContains(t, err, "the KDC does not know the service's principal")
			require.ErrorContains(t, err, "domain_realm in krb5.conf")

			x, _, err := (&Service{Client: client, Principal: "nn/_HOST@" + kdctest.Realm}).Connect(t.Context(), "host:8020", "nn", "host")
			require.NoError(t, err)
			ticket, key, err := client.ticket(t.Context(), "nn/host@"+kdctest.Realm)
			require.NoError(t, err)
			require.Equal(t, x.sessionKey, key)
			require.NoError(t, ticket.DecryptEncPart(services, nil))
			require.Equal(t, home, ticket.DecryptedEncPart.CRealm)
			require.Equal(t, kdctest.Realm, ticket.Realm)
		})
	}

	mapping := filepath.Join(t.TempDir(), "krb5.conf")
	require.NoError(t, os.WriteFile(mapping, []byte("[domain_realm]\nhost = "+kdctest.Realm+"\n"), 0o600))
	client, err := Open(t.Context(), Options{Config: both + ":" + mapping})
	require.NoError(t, err)
	defer client.Close()
	_, _, err = client.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
}

// TestKDCsThatDoNotAnswer logs in with a krb5.conf that names a KDC that does not run before one
// that runs.
func TestKDCsThatDoNotAnswer(t *testing.T) {
	kdc, keytab := startKDC(t)
	for _, limit := range []string{"udp_preference_limit = 1\n", ""} {
		config := configOf(t, kdc, "  kdc = ", "  kdc = 127.0.0.1:1\n  kdc = ", "udp_preference_limit = 1\n", limit)
		for range 4 { // gokrb5 chooses the first KDC at random
			bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab, Config: config})
			require.NoError(t, err)
			_, _, err = bob.NewContext(t.Context(), "nn/host")
			require.NoError(t, err)
			bob.Close()
		}
	}
}

// TestKDCByUDP logs in to a KDC that can be reached by UDP only, as MIT's library does first if
// krb5.conf does not set udp_preference_limit.
func TestKDCByUDP(t *testing.T) {
	kdc, keytab := startKDC(t)
	relay, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	var requests atomic.Int32
	var relaying sync.WaitGroup
	relaying.Go(func() {
		packet := make([]byte, 1<<16)
		for {
			n, from, err := relay.ReadFrom(packet)
			if err != nil {
				return
			}
			requests.Add(1)
			conn, err := net.Dial("udp", kdc.Address)
			if err != nil {
				continue
			}
			if _, err = conn.Write(packet[:n]); err == nil {
				if n, err = conn.Read(packet); err == nil {
					_, _ = relay.WriteTo(packet[:n], from)
				}
			}
			_ = conn.Close()
		}
	})
	defer relaying.Wait()
	defer relay.Close()
	config := configOf(t, kdc, kdc.Address, relay.LocalAddr().String(), "udp_preference_limit = 1\n", "")
	bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab, Config: config})
	require.NoError(t, err)
	defer bob.Close()
	_, _, err = bob.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
	require.GreaterOrEqual(t, requests.Load(), int32(2), "a login and a ticket for a service")
}

// configOf returns the path of a copy of the KDC's krb5.conf in which the strings in replaced are
// replaced, as by strings.NewReplacer.
func configOf(t *testing.T, kdc *kdctest.KDC, replaced ...string) string {
	content, err := os.ReadFile(kdc.Config())
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "krb5.conf")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer(replaced...).Replace(string(content))), 0o600))
	return path
}

// TestNamesByDNS needs the names of 127.0.0.1 that every machine has.
func TestNamesByDNS(t *testing.T) {
	names, err := net.LookupAddr("127.0.0.1")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	const address = "127.0.0.1:8020"
	for text, allowed := range map[string]bool{
		"":                                     true,
		"dns_canonicalize_hostname = fallback": true,
		"dns_canonicalize_hostname = true\nrdns = on": true,
		"dns_canonicalize_hostname = false":           false,
		"rdns = no":                                   false,
		"rdns = off":                                  false,
	} {
		config := filepath.Join(t.TempDir(), "krb5.conf")
		require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\n"+text+"\n"), 0o600))
		settings, err := loadSettings(config)
		require.NoError(t, err)
		service := &Service{Client: &Client{settings: settings}, Key: "x", Principal: "nn/_HOST@R"}
		require.NoError(t, service.check(t.Context(), address, "nn/127.0.0.1"))
		err = service.check(t.Context(), address, withHost("nn/_HOST", names[0]))
		require.Equal(t, allowed, err == nil, "%q: %v", text, err)
	}
}
