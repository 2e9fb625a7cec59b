package launch

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// nodeManager does to a command line what a NodeManager does, then has bash run
// the script.
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

func TestSpecSurvivesTheCredentials(t *testing.T) {
	spec := &Spec{
		Name: "n", User: "u", Properties: map[string]string{"a": "b"}, Command: []string{"./x", "1"},
		Resources: []Resource{{Name: "x", URL: "hdfs://h:1/x", Size: 1, Timestamp: 2}}, StagingDir: "hdfs://h:1/s",
	}
	encoded, err := spec.Encode()
	require.NoError(t, err)
	again, err := DecodeSpec(encoded)
	require.NoError(t, err)
	require.Equal(t, spec, again)
}

func FuzzDecodeSpec(f *testing.F) {
	encoded, err := (&Spec{Name: "n"}).Encode()
	require.NoError(f, err)
	f.Add(encoded)
	f.Add([]byte("no gzip"))
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = DecodeSpec(data) })
}
