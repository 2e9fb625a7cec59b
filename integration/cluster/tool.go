package cluster

import (
	"context"
	"os/exec"
	"slices"
	"strings"
)

// Tool returns a command that runs a Java class of Hadoop with arguments. The command uses the
// JVM options, class path and configuration of the NameNode.
func (c *Cluster) Tool(ctx context.Context, class string, args ...string) *exec.Cmd {
	command := slices.DeleteFunc(slices.Clone(c.namenode.command), func(option string) bool {
		return strings.HasPrefix(option, "-XX:DumpLoadedClassList=")
	})
	command[len(command)-1] = class // the last element is the NameNode's class
	return exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
}
