// Command release builds a release of yarn-submit: static binaries for Linux and macOS on amd64
// and arm64, in archives, Debian packages and container images, with a software bill of
// materials for each platform, and checksums.
//
// The build is reproducible: the same source, Go release and options give the same bytes in any
// directory and on any machine. The version, and the only time in the files, are from the git
// commit, or from -version and SOURCE_DATE_EPOCH.
//
// Usage, from the module's root:
//
//	go run ./internal/release -o dist
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	output := flags.String("o", "dist", "`directory` for what is made; it must be new or empty")
	version := flags.String("version", "", "`version` such as v1.2.3 (default: from git's tags)")
	dirty := flags.Bool("dirty", false, "build from a tree with changes that are not committed")
	only := flags.String("platforms", "", "comma-separated `list`, such as linux/amd64 (default: all)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: see -help", flags.Arg(0))
	}
	platforms, err := parsePlatforms(*only)
	if err != nil {
		return err
	}
	source, err := describe(ctx, ".", *version, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	if source.dirty && !*dirty {
		return fmt.Errorf("the tree has changes that are not committed, so nobody could build the same again: commit them, or try with -dirty")
	}
	return (&release{source: source, output: *output, platforms: platforms, log: os.Stderr}).make(ctx)
}

// parsePlatforms parses a list of platforms; an empty list means all.
func parsePlatforms(list string) ([]platform, error) {
	if list == "" {
		return allPlatforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for _, one := range allPlatforms {
			if one.String() == name {
				chosen, found = append(chosen, one), true
			}
		}
		if !found {
			return nil, fmt.Errorf("platform %q: want some of %v", name, allPlatforms)
		}
	}
	return chosen, nil
}
