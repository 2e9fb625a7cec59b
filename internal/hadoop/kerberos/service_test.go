package kerberos

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTheConfiguredServerIsCalled(t *testing.T) {
	const key = "dfs.namenode.kerberos.principal"
	for name, c := range map[string]struct {
		principal, pattern, advertised, refusal string
	}{
		"its host":            {"nn/_HOST@R", "", "nn/127.0.0.1", ""},
		"by name":             {"nn/127.0.0.1@R", "", "nn/127.0.0.1", ""},
		"another service":     {"nn/_HOST@R", "", "http/127.0.0.1", "the server 127.0.0.1:8020 says that it is http/127.0.0.1, and " + key + " is nn/_HOST@R"},
		"another host":        {"nn/_HOST@R", "", "nn/127.0.0.3", "_HOST stands for 127.0.0.1"},
		"not configured":      {"", "", "nn/127.0.0.1", key + " is not set"},
		"a pattern":           {"", "nn/*@R", "nn/elsewhere", ""},
		"not by the pattern":  {"nn/_HOST@R", "nn/10.*@R", "nn/127.0.0.1", key + ".pattern is nn/10.*@R"},
		"a malformed pattern": {"", "nn/[", "nn/127.0.0.1", ".pattern is nn/["},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Service{Client: &Client{settings: &settings{}}, Key: key, Principal: c.principal, Pattern: c.pattern}
			err := s.check(t.Context(), "127.0.0.1:8020", c.advertised)
			if c.refusal == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.refusal)
		})
	}
	require.Equal(t, "rm/host.example.com@R", (&Service{Principal: "rm/_HOST@R"}).Name("Host.Example.COM"))
}
