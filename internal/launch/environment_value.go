package launch

import (
	"regexp"
	"strings"
)

// EnvironmentValue is a variable's value as it stands in a container's launch
// context. A NodeManager replaces {{NAME}} by $NAME, <LOG_DIR> by the
// container's log directory and <CPS> by ':', and puts what comes of it between
// the double quotes of a shell's export NAME="…" (ContainerLaunch.java of Hadoop
// 3). So that the process gets all the rest byte for byte, what means something
// to the shell is escaped, and braces that are no {{NAME}} are taken apart: a
// NodeManager would drop them.
func EnvironmentValue(value string) string {
	if !strings.Contains(value, "{{") && !strings.Contains(value, "}}") {
		return outer.Replace(value)
	}
	var written strings.Builder
	rest := 0
	for _, at := range reference.FindAllStringIndex(value, -1) {
		written.WriteString(apart(outer.Replace(value[rest:at[0]])))
		if at[0] > rest && value[at[0]-1] == '{' {
			written.WriteString(seam)
		}
		written.WriteString(value[at[0]:at[1]])
		if rest = at[1]; rest < len(value) && (value[rest] == '}' || isNameByte(value[rest])) {
			written.WriteString(seam) // {{A}}b would become $Ab
		}
	}
	written.WriteString(apart(outer.Replace(value[rest:])))
	return written.String()
}

// seam ends the double quotes and opens them again.
const seam = `""`

// reference is what a NodeManager is to replace by a variable.
var reference = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}`)

func isNameByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// apart puts seams between two braces of a kind.
func apart(text string) string {
	var written strings.Builder
	var previous byte
	for i := range len(text) {
		b := text[i]
		if b == previous && (b == '{' || b == '}') {
			written.WriteString(seam)
		}
		written.WriteByte(b)
		previous = b
	}
	return written.String()
}
