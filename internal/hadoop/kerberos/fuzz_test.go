package kerberos

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"[libdefaults]\n default_realm = ONE\n default_ccache_name = FILE:/run/%{uid}/cc\n ONE = {\n  forwardable = false\n }\n[unknown]\nx = y\n",
		"[realms]\nTWO = {\n kdc = two.example.com:89\n kdc = three\n auth_to_local = RULE:[1:$1](x)s/x/y/\n v4_instance_convert = {\n a = b\n }\n}\n[domain_realm]\n.two.example.com = TWO\n",
		"[libdefaults]\nclockskew = 5m\nticket_lifetime = 1d 2h\nnoaddresses\nkdc_timesync = x\n",
		"[libdefaults]\npermitted_enctypes = aes rc4 -des\ndefault_tkt_enctypes =\n[realms]*\nA = {\n}\n}\n",
		"# comment\n; comment\n[", "[realms]\nA = {\n kdc", "x = y",
	} {
		f.Add(text)
	}
	f.Setenv(cacheVariable, "")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			return // parse would read files of this machine
		}
		lines := &sections{byName: map[string][]string{}}
		if lines.parse("krb5.conf", strings.NewReader(text), 0) != nil {
			return
		}
		library, err := parseConfig(lines.text())
		if err != nil {
			return
		}
		require.NotNil(t, library)
		s := &settings{files: []string{"krb5.conf"}, library: library, cacheName: lines.value("default_ccache_name")}
		_, _ = s.nameOfCache()
	})
}

func FuzzRules(f *testing.F) {
	f.Add("RULE:[2:$1@$0]([nd]n@EXAMPLE.COM)s/.*/hdfs/\nDEFAULT", "nn/host@EXAMPLE.COM")
	f.Add("RULE:[1:$1@$0](.*@OTHER.COM)s/@.*///L RULE:[1:$1.$0](a\\.b.*)s/a/x$1$9/g", "a@b.a")
	f.Fuzz(func(t *testing.T, text, principal string) {
		rules, err := ParseRules(text, "EXAMPLE.COM")
		if err != nil {
			require.ErrorContains(t, err, "hadoop.security.auth_to_local")
			return
		}
		user, err := rules.User(principal)
		if err == nil {
			require.NotContains(t, user, "/")
			require.NotContains(t, user, "@")
		}
	})
}

// FuzzUnwrap passes altered messages of a JDK to Unwrap, which must accept only the
// original.
func FuzzUnwrap(f *testing.F) {
	vectors := loadVectors(f)
	f.Add([]byte{5, 4, 1, 0xff, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add(append([]byte{5, 4, 3, 0xff, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 64)...))
	for _, v := range vectors {
		for _, message := range v.Received {
			f.Add([]byte(message.Token))
		}
	}
	f.Fuzz(func(t *testing.T, token []byte) {
		for _, v := range vectors {
			x := v.context(t)
			data, sealed, err := x.Unwrap(token)
			if err != nil {
				continue
			}
			first := v.Received[0] // the only message with the expected sequence number; its rotation may be altered
			require.Equal(t, first.Text, string(data))
			require.Equal(t, first.Sealed, sealed)
		}
	})
}

// FuzzEstablish passes altered answers of a JDK to Establish.
func FuzzEstablish(f *testing.F) {
	vectors := loadVectors(f)
	for _, v := range vectors {
		f.Add([]byte(v.Answer))
	}
	f.Add([]byte("\x60\x0f\x06\x09*\x86H\x86\xf7\x12\x01\x02\x02\x03\x00\x7e\x00"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, v := range vectors {
			x := v.initiator(t)
			if x.Establish(answer) == nil {
				require.True(t, x.established)
			}
		}
	})
}

// FuzzKCM reads a ticket cache from a daemon whose answers are arbitrary.
func FuzzKCM(f *testing.F) {
	answer := func(code int32, content string) []byte {
		reply := binary.BigEndian.AppendUint32(nil, uint32(4+len(content)))
		return append(binary.BigEndian.AppendUint64(reply, uint64(uint32(code))), content...)
	}
	principal := "\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01R\x00\x00\x00\x01a"
	f.Add(slices.Concat(answer(0, "1000\x00"), answer(0, principal), answer(0, strings.Repeat("i", kcmCredentialID)), answer(0, principal+principal+strings.Repeat("\x00", 64))))
	f.Add(slices.Concat(answer(0, "1000\x00"), answer(0, principal), answer(0, "")))
	f.Add(answer(kcmNoCache, ""))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, answers []byte) {
		for _, name := range []string{"", "1000"} {
			content, err := readCacheFrom(daemonThatSays{bytes.NewReader(answers)}, name)
			if err != nil {
				require.Empty(t, content)
				continue
			}
			_, _ = parseCache("KCM:"+name, content)
		}
	})
}

// daemonThatSays is a connection to a daemon that answers without regard to the requests.
type daemonThatSays struct{ io.Reader }

func (daemonThatSays) Write(request []byte) (int, error) { return len(request), nil }
