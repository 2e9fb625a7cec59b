package launch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// nodeManager replaces references in a command line as a NodeManager does, and runs it.
func nodeManager(t require.TestingT, line string) string {
	line = strings.ReplaceAll(line, "1><LOG_DIR>/stdout 2><LOG_DIR>/stderr", "")
	line = strings.NewReplacer("<LOG_DIR>", "EXPANDED", "<CPS>", "EXPANDED", "{{", "$", "}}", "").Replace(line)
	output, err := exec.Command("/bin/bash", "-c", `exec /bin/bash -c "`+line+`"`).CombinedOutput()
	require.NoError(t, err, "%s: %s", line, output)
	return string(output)
}

func TestArgumentsReachTheProgramByteForByte(t *testing.T) {
	arguments := []string{
		"plain", "", "two words", "it's", `"quoted"`, "$HOME", "`id`", "$(id)", `back\slash`, `\`, "a{{PWD}}b", "{{{x}}}",
		"<LOG_DIR>", "<<CPS>>", "new\nline", "tab\t", "*", "!x", "ü", "a'b\"c$d", "-n", "--flag=value with space",
	}
	printed := nodeManager(t, ShellCommand(append([]string{"printf", "%s\x01"}, arguments...)))
	require.Equal(t, arguments, strings.Split(strings.TrimSuffix(printed, "\x01"), "\x01"))
}

func TestAnyArgumentReachesTheProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argument := rapid.StringOf(rapid.RuneFrom([]rune("ab '\"$`\\{}<>LOG_DIRCPS!#&;|\n~*ü"))).Draw(t, "argument")
		require.Equal(t, argument, nodeManager(t, ShellCommand([]string{"printf", "%s", argument})))
	})
}

// exported replaces references in a value as a NodeManager does, and returns the value that the
// process receives.
func exported(t require.TestingT, value string) string {
	value = strings.NewReplacer("<LOG_DIR>", "/logs", "<CPS>", ":", "{{", "$", "}}", "").Replace(EnvironmentValue(value))
	output, err := exec.Command("/bin/bash", "-c", "NODE=n1; export VALUE=\""+value+"\"\nprintf '%s\\x01' \"$VALUE\"").CombinedOutput()
	require.NoError(t, err, "%s: %s", value, output)
	return strings.TrimSuffix(string(output), "\x01")
}

func TestNodeManagerExpandsOnlyReferences(t *testing.T) {
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
			return // the NodeManager expands the reference
		}
		require.Equal(t, value, exported(t, value))
	})
}
