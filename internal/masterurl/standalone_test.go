package masterurl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStandalone(t *testing.T) {
	for url, want := range map[string][]string{
		"bobbin://h":                    {"h:7077"},
		"bobbin://h:1":                  {"h:1"},
		"bobbin://a:1, b,c.d.example:3": {"a:1", "b:7077", "c.d.example:3"},
		"bobbin://[::1]":                {"[::1]:7077"},
		"bobbin://[::1]:5,10.0.0.1":     {"[::1]:5", "10.0.0.1:7077"},
	} {
		addresses, err := ParseStandalone(url)
		require.NoError(t, err, url)
		require.Equal(t, want, addresses)
		again, err := ParseStandalone(StandaloneURL(addresses...))
		require.NoError(t, err)
		require.Equal(t, addresses, again)
	}
	for url, reason := range map[string]string{
		"":                    "does not begin with bobbin://",
		"spark://h:7077":      "does not begin with bobbin://",
		"bobbin://":           "names no host",
		"bobbin://h,":         "names no host",
		"bobbin://:7077":      "names no host",
		"bobbin://h:":         "no port behind its colon",
		"bobbin://h:0":        `"0" is no port`,
		"bobbin://h:65536":    `"65536" is no port`,
		"bobbin://h:http":     `"http" is no port`,
		"bobbin://h/path":     `"h/path" is no host`,
		"bobbin://u@h":        `"u@h" is no host`,
		"bobbin://::1":        "stands in brackets",
		"bobbin://[::1":       "stands in brackets",
		"bobbin://[h]:1":      `"h" is no IPv6 address`,
		"bobbin://h,h:7077":   "named twice",
		"bobbin://a b:1":      "is no host",
		"bobbin://h:1:2":      "stands in brackets",
		"bobbin://[10.0.0.1]": "is no IPv6 address",
	} {
		_, err := ParseStandalone(url)
		require.ErrorContains(t, err, reason, url)
		require.ErrorContains(t, err, "bobbin://host")
	}
}

func FuzzParseStandalone(f *testing.F) {
	for _, url := range []string{"bobbin://h", "bobbin://a:1,b:2", "bobbin://[::1]:5", "bobbin://[", "bobbin://:", "x"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		addresses, err := ParseStandalone(url)
		if err != nil {
			return
		}
		require.NotEmpty(t, addresses)
		again, err := ParseStandalone(StandaloneURL(addresses...))
		require.NoError(t, err)
		require.Equal(t, addresses, again)
		require.False(t, strings.ContainsAny(strings.Join(addresses, ""), "/@ \n"))
	})
}
