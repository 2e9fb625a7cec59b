package client

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// programFor returns the smallest program for a platform that contains bobbin's marker.
func programFor(t *testing.T, platform string) []byte {
	t.Helper()
	switch platform {
	case "linux/amd64":
		return image{kind: elf.ET_EXEC, machine: elf.EM_X86_64, content: launch.KeepMarker()}.bytes()
	case "linux/arm64":
		return image{kind: elf.ET_EXEC, machine: elf.EM_AARCH64, content: launch.KeepMarker()}.bytes()
	case "darwin/arm64":
		var out bytes.Buffer // header of a 64-bit Mach-O executable without load commands
		require.NoError(t, binary.Write(&out, binary.LittleEndian, []uint32{0xfeedfacf, 0x0100000c, 0, 2, 0, 0, 0, 0}))
		return out.Bytes()
	}
	t.Fatalf("no program for %s", platform)
	return nil
}

func TestBuildOfThisProgramThatGoesToTheCluster(t *testing.T) {
	tests := []struct {
		name   string
		self   string   // platform of this process's program
		beside []string // platforms of other builds in the same directory
		values map[string]string
		nodes  string
		want   string   // name of the chosen file
		fails  []string // parts of the expected error
	}{
		{name: "itself", self: "linux/amd64", want: "app"},
		{name: "itself on arm64", self: "linux/arm64", want: "app"},
		{name: "beside it", self: "darwin/arm64", beside: []string{"linux/amd64"}, want: "app-linux-amd64"},
		{name: "as the nodes say", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, nodes: "aarch64", want: "app-linux-arm64"},
		{name: "the usual where they do not", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, want: "app-linux-amd64"},
		{name: "as the setting says", self: "linux/amd64", beside: []string{"linux/arm64"}, values: map[string]string{"yarn.platform": "linux/arm64"}, nodes: "amd64", want: "app-linux-arm64"},
		{name: "another than itself", self: "linux/arm64", beside: []string{"linux/amd64"}, nodes: "amd64", want: "app-linux-amd64"},
		{name: "named", self: "darwin/arm64", beside: []string{"linux/amd64", "linux/arm64"}, values: map[string]string{"yarn.program": "app-linux-arm64"}, want: "app-linux-arm64"},
		{name: "none", self: "darwin/arm64", fails: []string{"is built for darwin/arm64", "must be built for linux/amd64", "app-linux-amd64", "--program", "GOOS=linux GOARCH=amd64"}},
		{name: "none for the setting", self: "linux/amd64", values: map[string]string{"yarn.platform": "linux/arm64"}, fails: []string{"must be built for linux/arm64", "app-linux-arm64"}},
		{name: "named, and not there", self: "darwin/arm64", values: map[string]string{"yarn.program": "lost"}, fails: []string{"lost does not exist"}},
		{name: "named, and a Mac's", self: "darwin/arm64", values: map[string]string{"yarn.program": "app"}, fails: []string{"macOS executable"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			directory := t.TempDir()
			write := func(name, platform string) string {
				path := filepath.Join(directory, name)
				require.NoError(t, os.WriteFile(path, programFor(t, platform), 0o700))
				return path
			}
			job := Job{Program: write("app", test.self), IsOwnProgram: true}
			for _, platform := range test.beside {
				write("app-"+strings.ReplaceAll(platform, "/", "-"), platform)
			}
			values := map[string]string{}
			for key, value := range test.values {
				if key == "yarn.program" {
					value = filepath.Join(directory, value)
				}
				values[key] = value
			}
			job.Settings = settingsOf(t, values)
			program, err := daemons(t, test.nodes, test.nodes).chooseProgram(t.Context(), job)
			if test.fails != nil {
				require.Equal(t, ExitUsage, ExitCode(err))
				for _, want := range test.fails {
					require.ErrorContains(t, err, want)
				}
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, filepath.Base(program.Path))
			require.Equal(t, "app", program.Name, "it is called the same on the cluster")
			require.Equal(t, platformOf(program.Path), program.Platform)
		})
	}
}

func TestBuildsAreFoundBesideTheTargetOfALink(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "app"), programFor(t, "darwin/arm64"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "app-linux-amd64"), programFor(t, "linux/amd64"), 0o700))
	link := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.Symlink(filepath.Join(directory, "app"), link))
	require.Equal(t, map[string]string{"linux/amd64": filepath.Join(directory, "app-linux-amd64")}, buildsOf(link))
}

func TestSubmitDoesNotReplaceAnotherProgramByItsBuild(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "app")
	require.NoError(t, os.WriteFile(path, programFor(t, "darwin/arm64"), 0o700))
	require.NoError(t, os.WriteFile(path+"-linux-amd64", programFor(t, "linux/amd64"), 0o700))
	_, err := daemons(t, "amd64", "amd64").chooseProgram(t.Context(), Job{Program: path, Settings: settingsOf(t, nil)})
	require.ErrorContains(t, err, "macOS executable")
}

func TestDriverInClientModeMustRunHere(t *testing.T) {
	here := runtime.GOOS + "/" + runtime.GOARCH
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		want := "is built for " + platform
		if platform == here {
			want = ""
		}
		path := filepath.Join(t.TempDir(), "app")
		require.NoError(t, os.WriteFile(path, programFor(t, platform), 0o700))
		if want == "" {
			require.NoError(t, CheckRunsHere(path))
			continue
		}
		require.ErrorContains(t, CheckRunsHere(path), want)
		require.ErrorContains(t, CheckRunsHere(path), "this machine, which is "+here)
	}
	script := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700))
	require.ErrorContains(t, CheckRunsHere(script), "is a script")
}
