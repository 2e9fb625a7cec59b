package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
)

func newFS(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "fs COMMAND",
		Short: "List, read, copy and remove files in HDFS",
		Long: `List, read, copy and remove files in HDFS, as hdfs dfs does, with the
configuration in HADOOP_CONF_DIR and the login of kinit.

A path is hdfs://…, file://…, or a path in fs.defaultFS: relative ones are below
your home directory. put and get take paths on this machine, too. In quotes,
*, ?, [a-z] and {a,b} stand for several files.`,
		Example: "  yarn-submit fs ls -h /data\n  yarn-submit fs head '/data/out/part-*.gz'\n  yarn-submit fs put app.conf /apps/",
		Args:    cobra.ArbitraryArgs,
	}
	c.AddCommand(newFSList(t), newFSUsage(t), newFSCat(t), newFSHead(t), newFSPut(t), newFSGet(t), newFSRemove(t), newFSMkdir(t))
	c.RunE = func(c *cobra.Command, args []string) error {
		var names []string
		for _, sub := range c.Commands() {
			names = append(names, sub.Name())
		}
		if len(args) == 0 {
			return client.UsageError(fmt.Errorf("no command: want one of %s; see %s --help", strings.Join(names, ", "), c.CommandPath()))
		}
		return client.UsageError(fmt.Errorf("unknown command %q%s; see %s --help", args[0], didYouMean(args[0], names), c.CommandPath()))
	}
	return c
}

// onFiles sets the function of command c: it logs in to Kerberos if the cluster requires it, and
// calls run. files accesses this machine's files, and HDFS if Hadoop is configured.
func onFiles(t terminal, c *cobra.Command, run func(ctx context.Context, files *storage.Files, args []string) error) {
	c.RunE = func(c *cobra.Command, args []string) error {
		settings, err := config.FromEnvironment(config.Sources{})
		if err != nil {
			return client.UsageError(err)
		}
		hadoop, err := conf.FromEnvironment(config.Hadoop.In(settings))
		if err != nil && !errors.Is(err, conf.ErrNotConfigured) {
			return client.UsageError(err)
		}
		if err != nil {
			hadoop = nil
		}
		identity, err := client.Login(hadoop, settings)
		if err != nil {
			return err
		}
		defer identity.Close()
		files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: t.logger(false)}))
		err = run(c.Context(), files, args)
		return errors.Join(err, files.Close())
	}
}

// addFlag adds the flag --name. Each letter of letters is a short form of the flag, such as -r and
// -R in Hadoop's commands.
func addFlag(c *cobra.Command, name, letters, usage string) *bool {
	value := c.Flags().BoolP(name, letters[:1], false, usage)
	for _, letter := range letters[1:] {
		c.Flags().BoolVarP(value, "also-"+string(letter), string(letter), false, usage)
		_ = c.Flags().MarkHidden("also-" + string(letter)) // MarkHidden fails only for unknown flags
	}
	return value
}

// addHumanReadable adds the flag --human-readable. Its short form is -h, as in Hadoop's commands,
// so -h is no longer the short form of --help.
func addHumanReadable(c *cobra.Command) *bool {
	c.Flags().Bool("help", false, "help for "+c.Name())
	return c.Flags().BoolP("human-readable", "h", false, "print sizes as 1.5 GB")
}

// minArgs requires at least n arguments. The parameter names is the text that describes the
// arguments in the error.
func minArgs(n int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= n {
			return nil
		}
		return client.UsageError(fmt.Errorf("want %s, got %d arguments: %s", names, len(args), c.UseLine()))
	}
}

// namedFile is a file or a directory that an argument of a command names.
type namedFile struct {
	storage.Info
	shown string // path to print; has a scheme only if the argument has one
}

// matching returns the files and directories that args name. Each argument may be a glob pattern.
func matching(ctx context.Context, files *storage.Files, args []string) ([]namedFile, error) {
	var found []namedFile
	for _, arg := range args {
		infos, err := files.Glob(ctx, arg)
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			found = append(found, namedFile{Info: info, shown: shownAs(arg, info.Path)})
		}
	}
	return found, nil
}

// shownAs returns uri. If arg has no scheme, shownAs removes the scheme and the authority.
func shownAs(arg, uri string) string {
	if strings.Contains(arg, ":/") {
		return uri
	}
	_, rest, _ := strings.Cut(uri, "://")
	return rest[strings.Index(rest, "/"):]
}

// in returns the namedFile for info, an entry of the directory f.
func (f namedFile) in(info storage.Info) namedFile {
	return namedFile{Info: info, shown: strings.TrimSuffix(f.shown, "/") + "/" + info.Name}
}

// entries returns the entries of the directory f, sorted by name.
func (f namedFile) entries(ctx context.Context, files *storage.Files) ([]namedFile, error) {
	infos, err := files.List(ctx, f.Path)
	entries := make([]namedFile, len(infos))
	for i, info := range infos {
		entries[i] = f.in(info)
	}
	return entries, err
}

// onThisMachine converts local paths to file:// URIs. It does not change "-" and URIs.
func onThisMachine(paths []string) ([]string, error) {
	uris := slices.Clone(paths)
	for i, path := range paths {
		if path == "-" || strings.Contains(path, ":/") {
			continue
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		uris[i] = "file://" + absolute
	}
	return uris, nil
}
