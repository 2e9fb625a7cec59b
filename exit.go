package bobbin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Exit codes of a program that was started by hand. In a container the
// ApplicationMaster and the executors have codes of their own.
const (
	exitFailed = 1
	exitUsage  = 2
)

// exitStatus is that of a program whose driver function returned err.
func exitStatus(err error) int {
	var own interface{ ExitStatus() int }
	if errors.As(err, &own) {
		return own.ExitStatus()
	}
	return exitFailed
}

// complain writes the error so that its first line comes last, where a person
// looks first; what follows it in the error, a stack perhaps, is above.
func complain(err error, code int) int {
	name := filepath.Base(os.Args[0])
	message, details, _ := strings.Cut(strings.TrimRight(err.Error(), "\n"), "\n")
	if details != "" {
		fmt.Fprintln(os.Stderr, details)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, message)
	return code
}
