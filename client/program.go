package client

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// Program is a local executable that has passed [CheckProgram].
type Program struct {
	Path        string // path on the local disk
	Name        string // file name in a container's working directory
	Platform    string // platform for which it was built, such as "linux/amd64"
	Size        int64  // size in bytes
	Interpreter string // path of its dynamic linker; "" for a static program
}

// machines maps Go's names of processors, as in yarn.platform, to ELF machine types.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// CheckProgram fails if nodes with a platform, such as "linux/amd64", cannot run the file at path.
// The error describes the file, and how to build a suitable program.
func CheckProgram(path, platform string) (*Program, error) {
	file, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, UsageErrorf("the program %s does not exist", path)
		}
		return nil, UsageErrorf("the program cannot be read: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, UsageErrorf("the program cannot be read: %w", err)
	}
	if info.IsDir() {
		return nil, UsageErrorf("the program %s is a directory: build it with %s, and submit what that writes", path, build(platform))
	}
	if !info.Mode().IsRegular() {
		return nil, UsageErrorf("the program %s is no regular file", path)
	}
	if what := describeNonELF(file); what != "" {
		return nil, UsageErrorf("the program %s is %s", path, fmt.Sprintf(what, build(platform)))
	}
	program := &Program{Path: path, Name: filepath.Base(path), Platform: platform, Size: info.Size()}
	if program.Interpreter, err = checkELF(file, platform); err != nil {
		return nil, UsageErrorf("the program %s %w", path, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, UsageErrorf("the program cannot be read: %w", err)
	}
	marked, err := launch.ContainsMarker(file)
	if err != nil {
		return nil, UsageErrorf("the program %s cannot be read: %w", path, err)
	}
	if !marked {
		return nil, UsageErrorf("the program %s does not use bobbin: call bobbin.Main in it, or run it as a command: "+
			"yarn-submit run -- %s", path, path)
	}
	return program, nil
}

// build returns a command that builds a program for the platform.
func build(platform string) string {
	system, processor, _ := strings.Cut(platform, "/")
	return "GOOS=" + system + " GOARCH=" + processor + " CGO_ENABLED=0 go build"
}

const rebuildAdvice = "; build it for the cluster: %[1]s"

// otherFormats describes files that are not Linux programs, by their first bytes. %[1]s stands for
// the build command.
var otherFormats = []struct{ magic, what string }{
	{"#!", "a script, not a bobbin program: run it as a command with yarn-submit run -- ./script (bobbin programs are built with %[1]s)"},
	{"MZ", "a Windows executable" + rebuildAdvice},
	{"\xfe\xed\xfa\xce", "a macOS executable" + rebuildAdvice},
	{"\xfe\xed\xfa\xcf", "a macOS executable" + rebuildAdvice},
	{"\xce\xfa\xed\xfe", "a macOS executable" + rebuildAdvice},
	{"\xcf\xfa\xed\xfe", "a macOS executable" + rebuildAdvice},
	{"\xca\xfe\xba\xbe", "a macOS universal executable or a Java class" + rebuildAdvice},
	{"PK\x03\x04", "a zip or jar archive, not a program: bobbin runs Go programs, built with %[1]s"},
	{"package ", "Go source, not a program" + rebuildAdvice},
}

// describeNonELF describes a file that is not an ELF file, and how to build one. It returns "" for
// an ELF file.
func describeNonELF(file io.ReaderAt) string {
	head := make([]byte, 16)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "not readable: " + strings.ReplaceAll(err.Error(), "%", "%%") + rebuildAdvice
	}
	head = head[:n]
	switch {
	case n == 0:
		return "empty" + rebuildAdvice
	case bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return ""
	}
	for _, known := range otherFormats {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return known.what
		}
	}
	return "no Linux executable" + rebuildAdvice
}

// checkELF fails if an ELF file is not an executable for the platform. It returns the path of the
// dynamic linker; "" for a static program.
func checkELF(file io.ReaderAt, platform string) (interpreter string, err error) {
	image, err := elf.NewFile(file)
	if err != nil {
		return "", fmt.Errorf("is a damaged executable (%w): build it again: %s", err, build(platform))
	}
	system, processor, _ := strings.Cut(platform, "/")
	if image.Type != elf.ET_EXEC && image.Type != elf.ET_DYN {
		return "", fmt.Errorf("is an ELF file, but no executable (%v); build it for the cluster: %s", image.Type, build(platform))
	}
	// Go leaves the OS ABI byte 0 for Linux, and sets it for other Unix systems.
	if image.OSABI != elf.ELFOSABI_NONE && image.OSABI != elf.ELFOSABI_LINUX {
		return "", fmt.Errorf("is an executable for another system (%s), the cluster's nodes are %s; build it for them: %s",
			strings.TrimPrefix(image.OSABI.String(), "ELFOSABI_"), system, build(platform))
	}
	if image.Machine != machines[processor] {
		return "", fmt.Errorf("is an executable for %s, the cluster's nodes are %s; build it for them: %s, "+
			"or set yarn.platform if the nodes are not %[2]s", machineName(image.Machine), platform, build(platform))
	}
	for _, segment := range image.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		const maxPath = 4096
		name, err := io.ReadAll(io.LimitReader(segment.Open(), maxPath))
		if err != nil {
			return "", fmt.Errorf("is a damaged executable (%w): build it again: %s", err, build(platform))
		}
		return string(bytes.TrimRight(name, "\x00")), nil
	}
	return "", nil
}

func machineName(machine elf.Machine) string {
	for name, known := range machines {
		if machine == known {
			return "linux/" + name
		}
	}
	return "a processor of the kind " + strings.TrimPrefix(machine.String(), "EM_")
}
