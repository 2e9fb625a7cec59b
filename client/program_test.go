package client

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// image is an ELF file with one program header, the smallest file that debug/elf accepts.
type image struct {
	abi         elf.OSABI
	kind        elf.Type
	machine     elf.Machine
	interpreter string
	content     string
}

func (i image) bytes() []byte {
	const headerSize, segmentSize = 64, 56
	header := elf.Header64{
		Type: uint16(i.kind), Machine: uint16(i.machine), Version: uint32(elf.EV_CURRENT),
		Phoff: headerSize, Ehsize: headerSize, Phentsize: segmentSize, Phnum: 1,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)
	header.Ident[elf.EI_OSABI] = byte(i.abi)
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD)}
	if i.interpreter != "" {
		segment = elf.Prog64{Type: uint32(elf.PT_INTERP), Off: headerSize + segmentSize, Filesz: uint64(len(i.interpreter) + 1)}
	}
	var out bytes.Buffer
	for _, part := range []any{header, segment} {
		if err := binary.Write(&out, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	out.WriteString(i.interpreter + "\x00" + i.content)
	return out.Bytes()
}

// bobbinProgram returns the smallest file that CheckProgram accepts as a static bobbin program for
// linux/amd64.
func bobbinProgram(content string) []byte {
	return image{kind: elf.ET_EXEC, machine: elf.EM_X86_64, content: launch.KeepMarker() + content}.bytes()
}

func TestCheckProgram(t *testing.T) {
	good := image{kind: elf.ET_EXEC, machine: elf.EM_X86_64, content: launch.KeepMarker()}
	with := func(change func(*image)) []byte {
		changed := good
		change(&changed)
		return changed.bytes()
	}
	tests := []struct {
		name     string
		content  []byte
		platform string
		want     []string // parts of the expected error; nil if the program is accepted
	}{
		{name: "static", content: good.bytes()},
		{name: "position independent", content: with(func(i *image) { i.kind = elf.ET_DYN })},
		{name: "for arm64", content: with(func(i *image) { i.machine = elf.EM_AARCH64 }), platform: "linux/arm64"},
		{"empty", nil, "", []string{"is empty", "GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build"}},
		{"script", []byte("#!/bin/sh\necho\n"), "", []string{"is a script", "yarn-submit run -- "}},
		{"windows", []byte("MZ\x90\x00"), "", []string{"Windows executable", "GOOS=linux GOARCH=amd64"}},
		{"mac", []byte("\xcf\xfa\xed\xfe....."), "linux/arm64", []string{"macOS executable", "GOOS=linux GOARCH=arm64"}},
		{"jar", []byte("PK\x03\x04....."), "", []string{"jar archive"}},
		{"source", []byte("package main\n"), "", []string{"Go source"}},
		{"text", []byte("hello"), "", []string{"no Linux executable"}},
		{"cut off", good.bytes()[:70], "", []string{"damaged executable"}},
		{"object file", with(func(i *image) { i.kind = elf.ET_REL }), "", []string{"no executable (ET_REL)"}},
		{"freebsd", with(func(i *image) { i.abi = elf.ELFOSABI_FREEBSD }), "", []string{"another system (FREEBSD)"}},
		{"wrong processor", with(func(i *image) { i.machine = elf.EM_AARCH64 }), "", []string{"for linux/arm64", "nodes are linux/amd64", "yarn.platform"}},
		{"strange processor", with(func(i *image) { i.machine = elf.EM_RISCV }), "", []string{"RISCV"}},
		{"no bobbin", with(func(i *image) { i.content = "int main" }), "", []string{"does not use bobbin", "bobbin.Main", "yarn-submit run -- "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "app")
			require.NoError(t, os.WriteFile(path, test.content, 0o600))
			platform := test.platform
			if platform == "" {
				platform = "linux/amd64"
			}
			program, err := CheckProgram(path, platform)
			if test.want == nil {
				require.NoError(t, err)
				require.Equal(t, &Program{Path: path, Name: "app", Platform: platform, Size: int64(len(test.content))}, program)
				return
			}
			require.Equal(t, ExitUsage, ExitCode(err))
			require.ErrorContains(t, err, path)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "%!", "a format went wrong")
		})
	}
}

func TestCheckProgramNamesTheDynamicLinker(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app")
	content := image{kind: elf.ET_DYN, machine: elf.EM_X86_64, interpreter: "/lib64/ld-linux-x86-64.so.2", content: launch.KeepMarker()}
	require.NoError(t, os.WriteFile(path, content.bytes(), 0o600))
	program, err := CheckProgram(path, "linux/amd64")
	require.NoError(t, err)
	require.Equal(t, "/lib64/ld-linux-x86-64.so.2", program.Interpreter)
}

func TestCheckProgramFailsWithoutARegularFile(t *testing.T) {
	directory := t.TempDir()
	_, err := CheckProgram(directory, "linux/amd64")
	require.ErrorContains(t, err, "is a directory")
	_, err = CheckProgram(filepath.Join(directory, "missing"), "linux/amd64")
	require.ErrorContains(t, err, "missing does not exist")
	require.Equal(t, ExitUsage, ExitCode(err))
	_, err = CheckProgram(os.DevNull, "linux/amd64")
	require.ErrorContains(t, err, "no regular file")
}

func FuzzCheckELF(f *testing.F) {
	f.Add(image{kind: elf.ET_EXEC, machine: elf.EM_X86_64}.bytes())
	f.Add(image{kind: elf.ET_DYN, machine: elf.EM_X86_64, interpreter: "/lib/ld.so"}.bytes())
	f.Add([]byte(strings.Repeat("\x7fELF", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = checkELF(bytes.NewReader(data), "linux/amd64")
		_ = describeNonELF(bytes.NewReader(data))
	})
}
