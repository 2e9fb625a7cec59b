package launch

import (
	"regexp"
	"strings"
)

// ShellCommand returns the command with which a NodeManager starts a program in a container.
// The program receives the arguments unchanged, and writes stdout and stderr to the log
// directory.
//
// A NodeManager replaces {{NAME}} by $NAME, <LOG_DIR> by the container's log directory and
// <CPS> by the class path separator ":". It writes the result into a script, in bash -c "…"
// (ContainerLaunch.java and ContainerExecutor.java of Hadoop 3).
func ShellCommand(arguments []string) string {
	var line strings.Builder
	line.WriteString("exec ")
	for _, argument := range arguments {
		line.WriteString(quote(argument))
		line.WriteByte(' ')
	}
	line.WriteString("1><LOG_DIR>/stdout 2><LOG_DIR>/stderr")
	return line.String()
}

// quote puts an argument into single quotes, for the shell that the NodeManager's script starts
// by bash -c "…", and escapes the result for these double quotes. Between the two braces of {{
// and of }}, and after <, it closes and reopens the single quotes, so that the NodeManager
// replaces nothing in the argument.
func quote(argument string) string {
	var inner strings.Builder
	inner.WriteByte('\'')
	var previous byte
	for i := range len(argument) {
		b := argument[i]
		switch {
		case b == '\'':
			inner.WriteString(`'\''`)
			previous = 0
			continue
		case previous == '{' && b == '{', previous == '}' && b == '}', previous == '<':
			inner.WriteString("''")
		}
		inner.WriteByte(b)
		previous = b
	}
	inner.WriteByte('\'')
	return doubleQuoted.Replace(inner.String())
}

// doubleQuoted escapes text for use between double quotes in a shell.
var doubleQuoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")

// EnvironmentValue returns an environment variable's value for a container's launch context.
// The process receives the value unchanged, except that the NodeManager replaces {{NAME}},
// <LOG_DIR> and <CPS>.
//
// A NodeManager writes the value between the double quotes of export NAME="…", and removes any
// {{ and }} that do not enclose a variable's name (ContainerLaunch.java of Hadoop 3). So
// EnvironmentValue inserts "" between the two braces of {{ and of }}. The shell removes the "".
func EnvironmentValue(value string) string {
	if !strings.Contains(value, "{{") && !strings.Contains(value, "}}") {
		return doubleQuoted.Replace(value)
	}
	var written strings.Builder
	rest := 0
	for _, match := range reference.FindAllStringIndex(value, -1) {
		start, end := match[0], match[1]
		written.WriteString(separateBraces(doubleQuoted.Replace(value[rest:start])))
		if start > rest && value[start-1] == '{' {
			written.WriteString(quoteBreak)
		}
		written.WriteString(value[start:end])
		if rest = end; rest < len(value) && (value[rest] == '}' || isNameByte(value[rest])) {
			written.WriteString(quoteBreak) // otherwise the NodeManager would replace {{A}}b by $Ab
		}
	}
	written.WriteString(separateBraces(doubleQuoted.Replace(value[rest:])))
	return written.String()
}

// quoteBreak closes and reopens the double quotes around a value.
const quoteBreak = `""`

var reference = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}`)

func isNameByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// separateBraces inserts quoteBreak between the two braces of each {{ and of each }}.
func separateBraces(text string) string {
	var written strings.Builder
	var previous byte
	for i := range len(text) {
		b := text[i]
		if b == previous && (b == '{' || b == '}') {
			written.WriteString(quoteBreak)
		}
		written.WriteByte(b)
		previous = b
	}
	return written.String()
}
