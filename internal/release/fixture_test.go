package main

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// trial returns a release whose program is a shell script, so that it need not be compiled but
// can be installed and run.
func trial() (*release, *program) {
	p := &program{
		platform: platform{"linux", "amd64"}, content: []byte("#!/bin/sh\necho it runs\n"),
		licences: []byte("all the terms\n"), bill: []byte("{}"),
		modules: []module{
			{path: "example.org/Mod", version: "v1.0.0+incompatible", sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", licences: []string{"MIT"}},
			{path: "std", version: "1.26.0"},
		},
	}
	other := &program{platform: platform{"linux", "arm64"}, content: []byte("for arm64")}
	return &release{
		source:    source{version: "v1.2.3", revision: "0123456789abcdef0123456789abcdef01234567", time: at},
		platforms: []platform{p.platform}, log: io.Discard,
		programs: map[platform]*program{p.platform: p, other.platform: other},
		manual: []entry{
			{name: "man/yarn-submit.1", content: []byte(".TH YARN-SUBMIT 1\n"), mode: 0o644},
			{name: "man/yarn-submit-run.1", content: []byte(".TH YARN-SUBMIT-RUN 1\n"), mode: 0o644},
			{name: "completions/yarn-submit.bash", content: []byte("bash"), mode: 0o644},
			{name: "completions/yarn-submit.fish", content: []byte("fish"), mode: 0o644},
			{name: "completions/_yarn-submit", content: []byte("zsh"), mode: 0o644},
		},
		texts: []entry{{name: "LICENSE", content: []byte("Apache"), mode: 0o644}},
	}, p
}

// needs skips a test if the machine does not have one of the tools. CI has all tools.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err == nil {
			continue
		}
		require.Empty(t, os.Getenv("CI"), "%s is missing", tool)
		t.Skipf("%s is missing", tool)
	}
}

// output runs a tool and returns its output.
func output(t *testing.T, tool string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), tool, args...)
	command.Env = append(os.Environ(), "LC_ALL=C", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s %v: %s", tool, args, said)
	return string(said)
}
