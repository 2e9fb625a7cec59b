package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// In release builds and in builds without git, the linker sets version and revision (-X
// main.version=…). Otherwise they are "".
var version, revision string

// build identifies the build of this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // git revision of the source
	Modified bool   `json:"modified,omitempty"` // the source had uncommitted changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersion(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of yarn-submit",
		Args:  cobra.NoArgs,
	}
	asJSON := addJSON(c)
	c.RunE = func(*cobra.Command, []string) error {
		v := thisBuild()
		if *asJSON {
			return t.printJSON(v)
		}
		_, err := fmt.Fprintln(t.stdout, v)
		return err
	}
	return c
}

func (v build) String() string {
	revision := v.Revision
	if v.Modified {
		revision += "+changes"
	}
	if revision != "" {
		revision = " " + revision
	}
	return fmt.Sprintf("yarn-submit %s%s (%s, %s)", v.Version, revision, v.Go, v.Platform)
}

func thisBuild() build {
	v := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	switch {
	case version != "":
		v.Version = version
	case info.Main.Version != "":
		v.Version = info.Main.Version
	}
	v.Revision = revision
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}
