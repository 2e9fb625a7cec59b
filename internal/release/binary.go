package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// target is the path of the program's main package.
const target = "./cmd/" + name

// compile builds the program for a platform and writes it to the file that output
// names.
func (r *release) compile(ctx context.Context, p platform, output string) error {
	output, err := filepath.Abs(output)
	if err != nil {
		return err
	}
	// Set the version by linker flags, and let go build record no version control information
	// (-buildvcs=false): a build from a source archive, which has no git repository, must give
	// the same binary.
	stamps := "-s -w -X main.version=" + r.source.version
	if r.source.revision != "" {
		stamps += " -X main.revision=" + r.source.revision
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", stamps, "-o", output, target)
	command.Dir = r.source.directory
	command.Env = append(os.Environ(), buildEnvironment(p)...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", target, err, bytes.TrimSpace(output))
	}
	return nil
}

// buildEnvironment returns variables that override the environment of this process, so that the
// binary does not depend on it.
func buildEnvironment(p platform) []string {
	return []string{
		"GOOS=" + p.system, "GOARCH=" + p.processor, "CGO_ENABLED=0",
		"GOFLAGS=", "GOEXPERIMENT=", "GODEBUG=", "GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GOWORK=off",
	}
}

// build compiles the program for a platform, and adds its licences and bill of materials.
func (r *release) build(ctx context.Context, p platform, work string) (*program, error) {
	path := filepath.Join(work, executable(p))
	if err := r.compile(ctx, p, path); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("what the binary is made of: %w", err)
	}
	for _, setting := range info.Settings {
		if setting.Key == "CGO_ENABLED" && setting.Value != "0" {
			return nil, fmt.Errorf("it was built with cgo, so it is not static")
		}
	}
	built := &program{platform: p, content: content}
	if built.modules, err = modules(ctx, r.source.directory, info); err != nil {
		return nil, err
	}
	built.licences = licenceTexts(built.modules)
	built.bill, err = bill(r.source, built, strings.TrimPrefix(info.GoVersion, "go"), info.Main.Path)
	return built, err
}
