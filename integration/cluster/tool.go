package cluster

import (
	"context"
	"os/exec"
	"slices"
	"strings"
)

// Tool returns the command that runs a Java class of Hadoop with arguments. It has the same JVM
// options, class path and configuration as the NameNode.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) *exec.Cmd {
	command := slices.DeleteFunc(slices.Clone(c.namenode.command), func(option string) bool {
		return strings.HasPrefix(option, "-XX:DumpLoadedClassList=")
	})
	command[len(command)-1] = class // in place of the NameNode's class
	return exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
}
