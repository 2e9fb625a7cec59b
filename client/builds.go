package client

import (
	"context"
	"debug/elf"
	"debug/macho"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// chooseProgram returns the executable to upload: job.Program or, if job.IsOwnProgram is set, the
// build of job.Program for the nodes' platform.
func (c *Cluster) chooseProgram(ctx context.Context, job Job) (*Program, error) {
	platform := config.Platform.In(job.Settings)
	platformSet := job.Settings.IsSet(config.Platform.Name())
	path := job.Program
	if job.IsOwnProgram {
		var err error
		if path, err = c.ownBuild(ctx, job, platform, platformSet); err != nil {
			return nil, err
		}
	}
	// Assume that the nodes have the program's platform. checkPlatform verifies this later.
	if built := platformOf(path); !platformSet && supported(built) {
		platform = built
	}
	program, err := CheckProgram(path, platform)
	if err == nil {
		program.Name = filepath.Base(job.Program)
	}
	return program, err
}

// ownBuild returns the value of yarn.program or, if that is not set, the path of the build of
// job.Program for the platform.
func (c *Cluster) ownBuild(ctx context.Context, job Job, platform string, platformSet bool) (string, error) {
	if named := config.Program.In(job.Settings); named != "" {
		return named, nil
	}
	builds := buildsOf(job.Program)
	if !platformSet && len(builds) > 1 {
		if found := c.clusterPlatform(ctx, platformOf(job.Program)); found != "" {
			platform = found
		}
	}
	if !platformSet && len(builds) == 1 {
		for _, only := range builds {
			return only, nil
		}
	}
	if path, ok := builds[platform]; ok {
		return path, nil
	}
	sibling := siblingName(job.Program, platform)
	return "", UsageErrorf("%s is built for %s, and what runs on the cluster must be built for %s: put such a build of it beside it as %s (the archives of a release of yarn-submit have it; "+
		"others are made by %s -o %s), or name one with yarn.program (--program)", job.Program, orUnknown(platformOf(job.Program)), platform, sibling, build(platform), sibling)
}

// siblingName returns the file name of a program's build for another platform, such as
// program-linux-arm64.
func siblingName(program, platform string) string {
	return program + "-" + strings.ReplaceAll(platform, "/", "-")
}

// buildsOf returns the paths of a program's builds, by platform. The builds are the program itself,
// and existing files with the names that siblingName returns. If the program is a symbolic link,
// buildsOf also looks for such files beside the link's target.
func buildsOf(program string) map[string]string {
	builds := map[string]string{}
	if own := platformOf(program); supported(own) {
		builds[own] = program
	}
	places := []string{program}
	if target, err := filepath.EvalSymlinks(program); err == nil && target != program {
		places = append(places, target)
	}
	for processor := range machines {
		platform := "linux/" + processor
		for _, place := range places {
			path := siblingName(place, platform)
			if info, err := os.Stat(path); builds[platform] == "" && err == nil && info.Mode().IsRegular() {
				builds[platform] = path
			}
		}
	}
	return builds
}

// supported reports whether bobbin's containers can run on a platform, such as "linux/amd64".
func supported(platform string) bool {
	system, processor, _ := strings.Cut(platform, "/")
	_, known := machines[processor]
	return system == "linux" && known
}

// appleProcessors maps the processors in macOS executables to their names in Go.
var appleProcessors = map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}

// platformOf returns the platform of the executable at path, such as "linux/amd64". It returns ""
// if path is not an executable of a known format.
func platformOf(path string) string {
	if image, err := elf.Open(path); err == nil {
		defer image.Close()
		if image.OSABI == elf.ELFOSABI_NONE || image.OSABI == elf.ELFOSABI_LINUX {
			for name, machine := range machines {
				if machine == image.Machine {
					return "linux/" + name
				}
			}
		}
		return ""
	}
	if image, err := macho.Open(path); err == nil {
		defer image.Close()
		if processor, ok := appleProcessors[image.Cpu]; ok {
			return "darwin/" + processor
		}
	}
	return ""
}

// CheckRunsHere fails if this machine cannot run a program. In client mode, the program's driver
// runs on this machine.
func CheckRunsHere(path string) error {
	here := runtime.GOOS + "/" + runtime.GOARCH
	built := platformOf(path)
	system, _, _ := strings.Cut(built, "/")
	switch {
	// On macOS, do not compare the processors, because Rosetta runs amd64 programs on arm64.
	case built != "" && system == runtime.GOOS && (built == here || runtime.GOOS == "darwin"):
		if runtime.GOOS != "linux" {
			return nil
		}
	case built != "":
		return UsageErrorf("the program %s is built for %s, and in client mode its driver runs on this machine, which is %s: build it for both, the one for the cluster as %s",
			path, built, here, siblingName(filepath.Base(path), "linux/amd64"))
	}
	_, err := CheckProgram(path, here)
	return err
}

func orUnknown(platform string) string {
	if platform == "" {
		return "another platform"
	}
	return platform
}
