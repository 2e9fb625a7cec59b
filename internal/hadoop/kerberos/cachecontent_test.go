package kerberos

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// ticketCache returns the content of a ticket cache of alice@ONE with a ticket for
// krbtgt/ONE@ONE. The ticket has one address, and the name of its server two components. The
// content states addresses and components as these numbers, which can be wrong.
func ticketCache(version byte, addresses, components uint32) []byte {
	content := []byte{5, version}
	number := func(n uint32) { content = binary.BigEndian.AppendUint32(content, n) }
	data := func(text string) {
		number(uint32(len(text)))
		content = append(content, text...)
	}
	principal := func(components uint32, names ...string) {
		number(1) // type
		number(components)
		data("ONE")
		for _, name := range names {
			data(name)
		}
	}
	if version == 4 {
		content = append(content, 0, 12, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0) // the header: the offset of the KDC's clock
	}
	principal(1, "alice")
	principal(1, "alice")
	principal(components, "krbtgt", "ONE")
	content = append(content, 0, 18)
	if version == 3 {
		content = append(content, 0, 18)
	}
	data("a key")
	for range 4 {
		number(1_700_000_000)
	}
	content = append(content, 0, 0x40, 0, 0, 0) // is_skey, flags
	number(addresses)
	content = append(content, 0, 2)
	data("\x7f\x00\x00\x01")
	number(1)
	content = append(content, 0, 1)
	data("authorization")
	data("a ticket")
	data("")
	return content
}

func TestTicketCaches(t *testing.T) {
	for _, version := range []byte{3, 4} {
		content := ticketCache(version, 1, 2)
		cache, err := parseCache("cache", content)
		require.NoError(t, err)
		require.Equal(t, "ONE", cache.GetClientRealm())
		require.Len(t, cache.Credentials, 1)
		require.Equal(t, "krbtgt/ONE", cache.Credentials[0].Server.PrincipalName.PrincipalNameString())
		require.Equal(t, "a ticket", string(cache.Credentials[0].Ticket))
	}
	whole := ticketCache(4, 1, 2)
	for name, content := range map[string][]byte{
		"empty": {}, "another file": []byte("[libdefaults]\n"), "the last byte is missing": whole[:len(whole)-1],
		"more addresses than bytes": ticketCache(4, 1<<31-1, 2), "more components than bytes": ticketCache(3, 1, 1<<32-1),
	} {
		_, err := parseCache("cache", content)
		require.ErrorIs(t, err, errCache, name)
		require.ErrorContains(t, err, "cache: it is no complete ticket cache: run kinit again", name)
	}
	whole[1] = 2
	_, err := parseCache("cache", whole)
	require.ErrorContains(t, err, "version 2, and bobbin reads the versions 3 and 4")
}

func FuzzCache(f *testing.F) {
	f.Add(ticketCache(4, 1, 2))
	f.Add(ticketCache(3, 1, 2))
	f.Add(ticketCache(4, 1<<30, 1<<30))
	f.Fuzz(func(t *testing.T, content []byte) {
		cache, err := parseCache("cache", content)
		if err != nil {
			return
		}
		for _, credential := range cache.Credentials {
			require.LessOrEqual(t, len(credential.Addresses)+len(credential.AuthData)+len(credential.Ticket), len(content))
		}
		_ = cache.GetClientPrincipalName()
		_ = cache.GetEntries()
	})
}
