// Package process runs the commands of tasks: it locates their programs ([Locate]), creates
// their working directories ([Links]), passes lines to and from them ([Pipe]), and describes
// how they ended ([DescribeExit]).
package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrorPrefix begins the error message of a task whose command failed. yarn-submit searches the
// application's diagnostics for it to find the command's exit status.
const ErrorPrefix = "command: "

// Locate searches for a program in directory, a command's working directory, and then in PATH,
// and returns its path. So the names of localized programs need no leading "./".
func Locate(directory, name string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	here, err := filepath.Abs(filepath.Join(directory, name))
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(name, '/') {
		found, err := exec.LookPath(here)
		var path *fs.PathError
		var failed *exec.Error
		if errors.As(err, &path) {
			err = &exec.Error{Name: name, Err: path.Err}
		} else if errors.As(err, &failed) {
			err = &exec.Error{Name: name, Err: failed.Err}
		}
		return found, err
	}
	if info, err := os.Stat(here); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return here, nil
	}
	return exec.LookPath(name)
}

// Status returns a command's exit status. If a signal killed the command, Status returns 128
// plus the signal's number, as a shell does.
func Status(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// DescribeExit describes how a command ended, such as "exited with status 1".
func DescribeExit(exit *exec.ExitError) string {
	text := fmt.Sprintf("exited with status %d", Status(exit))
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		text += fmt.Sprintf(" (%v)", status.Signal())
	}
	return text
}
