package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
)

func newLogs(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "logs application-id",
		Short: "Print the logs of an application's containers, running and finished",
		Long: `Print the logs of an application's containers, running and finished: aggregated
logs from HDFS, others from the nodes. The command waits for logs that nodes are
moving to HDFS, 2 minutes at most.

With --follow lines are printed as they are written, each behind the name of
the container that wrote it, until the application has ended.`,
		Args: exactArgs("application-id"),
	}
	var selection logs.Selection
	c.Flags().StringVar(&selection.Container, "container", "", "`ID`: only this container's")
	c.Flags().IntVar(&selection.Tail, "tail", 0, "`N`: only the last N lines of each file")
	follow := c.Flags().BoolP("follow", "f", false, "print lines as they are written, until the application ends")
	asJSON := c.Flags().Bool("json", false, "print the files as JSON on stdout; with --follow an object for each line")
	onCluster(t, c, func(c *cobra.Command, args []string, cluster clusterClient) error {
		if selection.Tail < 0 {
			return client.UsageError(fmt.Errorf("--tail %d: want 1 or more lines, or 0 for all", selection.Tail))
		}
		if *follow {
			write := newLineWriter(t.stdout).write
			if *asJSON {
				write = jsonLines(t.stdout)
			}
			return cluster.FollowLogs(c.Context(), args[0], selection, t.console, write)
		}
		if *asJSON {
			files := []fileWithContent{}
			err := cluster.Logs(c.Context(), args[0], selection, t.console, func(file logs.File, content io.Reader) error {
				text, err := io.ReadAll(content)
				files = append(files, fileWithContent{File: file, Content: strings.ToValidUTF8(string(text), "\uFFFD")})
				return err
			})
			return errors.Join(err, t.printJSON(files))
		}
		return cluster.Logs(c.Context(), args[0], selection, t.console, func(file logs.File, content io.Reader) error {
			return printLog(t.stdout, file, content)
		})
	})
	return c
}

type fileWithContent struct {
	logs.File
	Content string `json:"content"`
}

// printLog prints a heading and the content of a log file. It prints nothing for an empty file.
func printLog(w io.Writer, file logs.File, content io.Reader) error {
	if file.Size == 0 {
		return nil
	}
	container := "the " + file.Executor
	switch file.Executor {
	case "driver", "launcher":
	case "":
		container = "an executor"
	default:
		container = "executor " + file.Executor
	}
	size := fmt.Sprintf("%d bytes", file.Size)
	if file.Offset > 0 {
		size += fmt.Sprintf(", from byte %d on", file.Offset)
	}
	fmt.Fprintf(w, "==> %s of %s (%s, attempt %d, on %s, %s) <==\n", file.Name, container, file.Container, file.Attempt, file.Host, size)
	last := &lastByteWriter{w: w, b: '\n'}
	if _, err := io.Copy(last, content); err != nil {
		return err
	}
	if last.b != '\n' {
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintln(w)
	return err
}

type lastByteWriter struct {
	w io.Writer
	b byte
}

func (l *lastByteWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if n > 0 {
		l.b = p[n-1]
	}
	return n, err
}
