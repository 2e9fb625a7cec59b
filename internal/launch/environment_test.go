package launch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// exported does to a value what a NodeManager does, and returns what a process
// then has.
func exported(t require.TestingT, value string) string {
	value = strings.NewReplacer("<LOG_DIR>", "/logs", "<CPS>", ":", "{{", "$", "}}", "").Replace(EnvironmentValue(value))
	output, err := exec.Command("/bin/bash", "-c", "NODE=n1; export VALUE=\""+value+"\"\nprintf '%s\\x01' \"$VALUE\"").CombinedOutput()
	require.NoError(t, err, "%s: %s", value, output)
	return strings.TrimSuffix(string(output), "\x01")
}

func TestEnvironmentValuesAreExpandedByTheNodeAlone(t *testing.T) {
	for value, want := range map[string]string{
		"{{NODE}}":                       "n1",
		"a{{NODE}}b{{NODE}}":             "an1bn1",
		"{{NODE}}<CPS><LOG_DIR>/x":       "n1:/logs/x",
		"{{{NODE}}}":                     "{n1}",
		`{"a":{"b":{"c":1}}}`:            `{"a":{"b":{"c":1}}}`,
		"{{not a name}} {{1}} {{}} }}{{": "{{not a name}} {{1}} {{}} }}{{",
		"$NODE `id` $(id) \\ \" '":       "$NODE `id` $(id) \\ \" '",
		"two\nlines\n":                   "two\nlines\n",
		"":                               "",
	} {
		require.Equal(t, want, exported(t, value), value)
	}
}

func TestAnyEnvironmentValueReachesTheProcess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringOf(rapid.RuneFrom([]rune("ab1 '\"$`\\{}!#&;|\n~*ü"))).Draw(t, "value")
		if reference.MatchString(value) {
			return // which the node expands
		}
		require.Equal(t, value, exported(t, value))
	})
}

func TestGoLimits(t *testing.T) {
	require.Equal(t, map[string]string{"GOMAXPROCS": "3", "GOMEMLIMIT": "966367638"}, GoLimits(3, config.GiB))
}

func TestLogURL(t *testing.T) {
	require.Equal(t, "https://h:8044/node/containerlogs/container_1_0001_01_000002/ann", LogURL("https", "h:8044", "container_1_0001_01_000002", "ann"))
}
