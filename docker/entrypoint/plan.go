package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	idle = "idle" // starts no process; only prevents the container from ending
	kdc  = "kdc"
)

// classes maps each daemon's name to its Java main class.
var classes = map[string]string{
	"namenode":        "org.apache.hadoop.hdfs.server.namenode.NameNode",
	"datanode":        "org.apache.hadoop.hdfs.server.datanode.DataNode",
	"resourcemanager": "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",
	"nodemanager":     "org.apache.hadoop.yarn.server.nodemanager.NodeManager",
	"zookeeper":       "org.apache.zookeeper.server.ZooKeeperServerMain",
	kdc:               "", // a native program, not Java
}

// plan is the parsed command line.
type plan struct {
	daemons    []string
	properties []string // NAME=VALUE
}

func parse(arguments []string) (plan, error) {
	var p plan
	for i := 0; i < len(arguments); i++ {
		argument := arguments[i]
		switch {
		case argument == "-D":
			i++
			if i == len(arguments) {
				return p, errors.New("-D wants NAME=VALUE behind it")
			}
			if err := p.set(arguments[i]); err != nil {
				return p, err
			}
		default:
			if _, known := classes[argument]; known || argument == idle {
				p.daemons = append(p.daemons, argument)
				continue
			}
			return p, fmt.Errorf("there is no daemon %q: there are %s and %s", argument,
				strings.Join(slices.Sorted(maps.Keys(classes)), ", "), idle)
		}
	}
	if len(p.daemons) == 0 {
		return p, errors.New("name the daemons to run")
	}
	return p, nil
}

func (p *plan) set(property string) error {
	if name, _, found := strings.Cut(property, "="); !found || name == "" {
		return fmt.Errorf("property %q must be NAME=VALUE", property)
	}
	p.properties = append(p.properties, property)
	return nil
}

// override appends the properties in the file at path to p.properties. Each line of the file is
// NAME=VALUE, empty, or a comment that starts with #. The file need not exist.
func (p *plan) override(path string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.set(line); err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return nil
}
