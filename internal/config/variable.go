package config

import (
	"fmt"
	"strings"
)

// checkVariable checks a variable of a container's environment. A NodeManager
// writes its name into a shell script as it is.
func checkVariable(name, _ string) error {
	if !isVariable(name) {
		return fmt.Errorf("%q is no name of an environment variable: want letters, digits and _, a digit not first", name)
	}
	if strings.HasPrefix(name, LaunchPrefix) {
		return fmt.Errorf("names that begin with %s are bobbin's own", LaunchPrefix)
	}
	return nil
}

// isVariable tells whether a shell takes the name as a variable's.
func isVariable(name string) bool {
	for i, b := range []byte(name) {
		letter := b == '_' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
		if !letter && (i == 0 || b < '0' || b > '9') {
			return false
		}
	}
	return name != ""
}
