package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// module is a Go module whose code is in a binary.
type module struct {
	path     string // "std" for Go's standard library
	version  string
	sum      string   // the module's h1: hash, as in go.sum; "" for the standard library
	licences []string // SPDX identifiers; nil if no known licence was found in the module's files
	texts    []entry  // the module's licence and NOTICE files
}

// goModule is the module path that represents Go's standard library.
const goModule = "std"

// modules returns the modules of a binary and Go's standard library. It reads their licences
// from the module cache and from GOROOT.
func modules(ctx context.Context, directory string, info *debug.BuildInfo) ([]module, error) {
	var found []module
	arguments := []string{"mod", "download", "-json"}
	for _, dependency := range info.Deps {
		if dependency.Replace != nil {
			return nil, fmt.Errorf("module %s is replaced by %s: a release is made of published modules", dependency.Path, dependency.Replace.Path)
		}
		found = append(found, module{path: dependency.Path, version: dependency.Version, sum: dependency.Sum})
		arguments = append(arguments, dependency.Path+"@"+dependency.Version)
	}
	output, err := goTool(ctx, directory, arguments...)
	if err != nil {
		return nil, err
	}
	directories := map[string]string{}
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var one struct{ Path, Dir string }
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading where go keeps modules: %w", err)
		}
		directories[one.Path] = one.Dir
	}
	root, err := goTool(ctx, directory, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	directories[goModule] = string(bytes.TrimSpace(root))
	found = append(found, module{path: goModule, version: strings.TrimPrefix(info.GoVersion, "go")})
	for i := range found {
		if err := found[i].readLicences(directories[found[i].path]); err != nil {
			return nil, fmt.Errorf("the licence of %s: %w", found[i].path, err)
		}
	}
	return found, nil
}

func goTool(ctx context.Context, directory string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = directory
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("go %s %s: %w", args[0], args[1], err)
	}
	return output, nil
}

// legalFile matches the names of licence files and of NOTICE files, which must be distributed
// too.
var legalFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// readLicences reads the licence and NOTICE files in the module's root directory.
func (m *module) readLicences(directory string) error {
	files, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !file.Type().IsRegular() || !legalFile.MatchString(file.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(directory, file.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, entry{name: file.Name(), content: content, mode: 0o644})
		for _, match := range licensecheck.Scan(content).Match {
			// A match of only a licence's URL does not mean that the module is under that
			// licence.
			if !match.IsURL && !slices.Contains(m.licences, match.ID) {
				m.licences = append(m.licences, match.ID)
			}
		}
	}
	return nil
}

// licenceTexts returns the licence and NOTICE files of all modules as one text.
func licenceTexts(modules []module) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s contains these modules, each under the terms that follow its name.\n", name)
	for _, m := range modules {
		for _, file := range m.texts {
			fmt.Fprintf(&text, "\n%s\n%s %s: %s\n\n", strings.Repeat("=", 80), m.path, m.version, file.name)
			text.Write(bytes.TrimRight(bytes.ReplaceAll(file.content, []byte("\r\n"), []byte("\n")), "\n"))
			text.WriteByte('\n')
		}
	}
	return text.Bytes()
}
