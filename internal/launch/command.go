package launch

import "strings"

// ShellCommand is the line by which a NodeManager starts a program in a
// container, its output in the container's log directory.
//
// A NodeManager writes the line into a script, between the double quotes of
// bash -c "…", after it expanded {{NAME}} to $NAME and <LOG_DIR> and <CPS> to
// paths (ContainerLaunch.java and ContainerExecutor.java of Hadoop 3). Every
// argument is quoted so that it reaches the program byte for byte.
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

// quote protects an argument from the inner shell by single quotes, then from
// the outer double quotes by backslashes, and keeps the NodeManager from seeing
// its own marks in it by ending and opening the quotes between their characters.
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
	return outer.Replace(inner.String())
}

var outer = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
