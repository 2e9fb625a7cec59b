package kerberos

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos/kdctest"
)

// startKDC starts a KDC with the principals nn/host and bob, whose keys are in keytab, and
// alice, who has a password.
func startKDC(t *testing.T) (kdc *kdctest.KDC, keytab string) {
	kdc = kdctest.Start(t)
	keytab = filepath.Join(t.TempDir(), "keytab")
	require.NoError(t, kdc.AddKeytab(t.Context(), keytab, "nn/host", "bob"))
	require.NoError(t, kdc.AddUser(t.Context(), "alice", "geheim"))
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv(cacheVariable, "FILE:"+cache)
	return kdc, keytab
}

func TestLogin(t *testing.T) {
	kdc, keytab := startKDC(t)
	cache := os.Getenv(cacheVariable)

	_, err := Open(t.Context(), Options{})
	require.ErrorContains(t, err, "no Kerberos ticket: there is no ticket cache")
	require.ErrorContains(t, err, "run kinit")

	require.NoError(t, kdc.Init(t.Context(), cache, "alice", "geheim"))
	alice, err := Open(t.Context(), Options{})
	require.NoError(t, err)
	defer alice.Close()
	require.Equal(t, "alice@"+kdctest.Realm, alice.Principal())
	require.WithinDuration(t, time.Now().Add(24*time.Hour), alice.Expires(), time.Minute)
	_, _, err = alice.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
	_, _, err = alice.NewContext(t.Context(), "nn/elsewhere")
	require.ErrorContains(t, err, "the KDC does not know the service's principal")
	require.True(t, unknownService(err))
	require.True(t, IsRefusal(err))

	bob, err := Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.NoError(t, err)
	defer bob.Close()
	require.Equal(t, "bob@"+kdctest.Realm, bob.Principal())
	_, _, err = bob.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)

	_, err = Open(t.Context(), Options{Principal: "carol", Keytab: keytab})
	require.ErrorContains(t, err, "has no key of carol@"+kdctest.Realm)
	require.ErrorContains(t, err, "bob@"+kdctest.Realm)
	_, err = Open(t.Context(), Options{Principal: "bob@ELSEWHERE", Keytab: keytab})
	require.ErrorContains(t, err, "has no key of bob@ELSEWHERE")
	_, err = Open(t.Context(), Options{Principal: "bob"})
	require.ErrorContains(t, err, "go together")

	require.NoError(t, kdc.Admin(t.Context(), "cpw -randkey bob\n"))
	_, err = Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.ErrorContains(t, err, "the keytab's key is not the principal's current one")
	require.NoError(t, kdc.Admin(t.Context(), "delprinc -force bob\n"))
	_, err = Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.ErrorContains(t, err, "the KDC does not know the user's principal")
}

func TestExpiredTicket(t *testing.T) {
	kdc, _ := startKDC(t)
	cache := os.Getenv(cacheVariable)
	// The times of a ticket are whole seconds, so it can expire at once. Then request another.
	var client *Client
	var err error
	for range 10 {
		require.NoError(t, kdc.Init(t.Context(), cache, "alice", "geheim", "-l", "1s"))
		if client, err = Open(t.Context(), Options{}); err == nil {
			break
		}
	}
	require.NoError(t, err)
	defer client.Close()
	time.Sleep(time.Until(client.Expires()))
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "the Kerberos ticket of alice@"+kdctest.Realm)
	require.ErrorContains(t, err, "expired at")
	_, _, err = client.NewContext(t.Context(), "nn/host")
	require.ErrorContains(t, err, "expired at")

	// The user runs kinit again.
	require.NoError(t, kdc.Init(t.Context(), cache, "alice", "geheim"))
	_, _, err = client.NewContext(t.Context(), "nn/host")
	require.NoError(t, err)
}

func TestNoKDC(t *testing.T) {
	config := filepath.Join(t.TempDir(), "krb5.conf")
	t.Setenv(configVariable, config)
	_, err := Open(t.Context(), Options{})
	require.ErrorContains(t, err, "the configuration of Kerberos (KRB5_CONFIG)")

	_, keytab := startKDC(t)
	require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\ndefault_realm = "+kdctest.Realm+"\ndns_lookup_kdc = false\n"), 0o600))
	t.Setenv(configVariable, config)
	_, err = Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.ErrorContains(t, err, "no KDCs defined")
	require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\nudp_preference_limit = 1\ndefault_realm = "+kdctest.Realm+
		"\n[realms]\n"+kdctest.Realm+" = {\n  kdc = 127.0.0.1:1\n}\n"), 0o600))
	_, err = Open(t.Context(), Options{Principal: "bob", Keytab: keytab})
	require.ErrorContains(t, err, "no KDC of the realm "+kdctest.Realm+" answers")
}

func TestCachesThatCannotBeRead(t *testing.T) {
	kdc, _ := startKDC(t)
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	require.NoError(t, kdc.Init(t.Context(), whole, "alice", "geheim"))
	content, err := os.ReadFile(whole)
	require.NoError(t, err)
	for n := range len(content) {
		_, _ = parseCache("cache", content[:n])
	}
	t.Setenv(cacheVariable, "MEMORY:0")
	_, err = Open(t.Context(), Options{})
	require.ErrorContains(t, err, "the ticket cache is MEMORY:0 (KRB5CCNAME), and bobbin reads caches of the types FILE, DIR, KCM and KEYRING only: "+
		"export KRB5CCNAME=FILE:$HOME/.krb5cc and run kinit")

	// The ticket cache is a collection of caches.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "primary"), []byte("tkt1\n"), 0o600))
	require.NoError(t, os.Rename(whole, filepath.Join(dir, "tkt1")))
	for _, name := range []string{"DIR:" + dir, "DIR::" + dir + "/tkt1", dir + "/tkt1"} {
		t.Setenv(cacheVariable, name)
		client, err := Open(t.Context(), Options{})
		require.NoError(t, err)
		client.Close()
	}
}

func TestConfigOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	write("d/one.conf", "[realms]\nONE = {\n kdc = one.example.com\n}\n")
	write("d/two", "[realms]\nTWO = {\n kdc = two.example.com:89\n auth_to_local = RULE:[1:$1](x)s/x/y/\n}\n[domain_realm]\n.two.example.com = TWO\n")
	write("d/backup~", "[nonsense\n")
	write("more", "[libdefaults]\n forwardable = true\n")
	main := write("krb5.conf", "# comment\nincludedir "+dir+"/d\ninclude "+dir+"/more\nincludedir "+dir+"/none\n"+
		"[libdefaults]\n default_realm = ONE\n default_ccache_name = FILE:/run/%{uid}/cc\n ONE = {\n  forwardable = false\n }\n[unknown]\nx = y\n")
	t.Setenv(configVariable, main)
	s, err := loadSettings("")
	require.NoError(t, err)
	require.Equal(t, "ONE", s.library.LibDefaults.DefaultRealm)
	require.True(t, s.library.LibDefaults.Forwardable)
	require.True(t, s.library.LibDefaults.DNSLookupKDC)
	require.Len(t, s.library.Realms, 2)
	require.Equal(t, "TWO", s.library.ResolveRealm("a.two.example.com"))
	t.Setenv(cacheVariable, "")
	name, from := s.nameOfCache()
	require.Regexp(t, `^FILE:/run/\d+/cc$`, name)
	require.Contains(t, from, main)

	// If a key has several values, the first value is used.
	other := write("other", "[libdefaults]\n default_realm = TWO\n default_realm = THREE\n")
	t.Setenv(configVariable, other+":"+main)
	s, err = loadSettings("")
	require.NoError(t, err)
	require.Equal(t, "TWO", s.library.LibDefaults.DefaultRealm)

	// If KRB5_CONFIG names several files, one may be missing.
	t.Setenv(configVariable, dir+"/none:"+main)
	_, err = loadSettings("")
	require.NoError(t, err)
	write("loop", "include "+dir+"/loop\n")
	t.Setenv(configVariable, dir+"/loop")
	_, err = loadSettings("")
	require.ErrorContains(t, err, "include one another")
}

func TestEncryptionTypesOfTheConfiguration(t *testing.T) {
	const aes256, aes128, sha384, sha256 = 18, 17, 20, 19
	for text, want := range map[string][]int32{
		"":                                 {aes256, aes128, sha384, sha256},
		"permitted_enctypes = aes256-sha2": {sha384},
		"permitted_enctypes = aes -aes128-cts, -aes256-sha2":                                    {aes256, sha256},
		"default_tgs_enctypes = AES128-CTS-HMAC-SHA256-128\npermitted_enctypes = aes256-cts":    {sha256},
		"default_tgs_enctypes = DEFAULT +rc4 -aes256-cts-hmac-sha1-96\nallow_weak_crypto = yes": {aes128, sha384, sha256},
		"default_tgs_enctypes = arcfour-hmac":                                                   {aes256, aes128, sha384, sha256},
	} {
		config := filepath.Join(t.TempDir(), "krb5.conf")
		require.NoError(t, os.WriteFile(config, []byte("[libdefaults]\n"+text+"\n"), 0o600))
		s, err := loadSettings(config)
		require.NoError(t, err)
		require.Equal(t, want, s.library.LibDefaults.DefaultTGSEnctypeIDs, text)
	}
}

// TestServiceWithKeysOfOneType requests tickets for services that have only one key.
func TestServiceWithKeysOfOneType(t *testing.T) {
	kdc, keytab := startKDC(t)
	for name, encryption := range jdkEncryptions {
		require.NoError(t, kdc.Admin(t.Context(), "addprinc -randkey -e "+encryption+":normal nn/"+name+"\n"))
		x, _, err := openWith(t, kdc, keytab, encryption).NewContext(t.Context(), "nn/"+name)
		require.NoError(t, err)
		require.Equal(t, encryption, encryptionName(x.sessionKey.KeyType))
	}
}
