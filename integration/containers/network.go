package containers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	testnetwork "github.com/testcontainers/testcontainers-go/network"
)

const (
	// labelOwner is a label of networks and containers. Its value identifies the process that
	// has created them (see owner).
	labelOwner = "bobbin.owner"
	// labelNetwork is a label of containers. Its value is the name of their cluster's network.
	labelNetwork = "bobbin.owner.cluster"
)

// subnet is the IP subnet of a cluster's network. Each host has a fixed address in it.
type subnet struct{ prefix netip.Prefix }

// host returns the address of the host with the given index.
func (s subnet) host(index int) string {
	bytes := s.prefix.Addr().As4()
	bytes[3] = byte(10 + index)
	return netip.AddrFrom4(bytes).String()
}

// createNetwork creates a network on the first free subnet. A subnet that contains an address
// of this machine is not free. Docker cannot check this when several engines run, because an
// engine sees only its own networks. Two networks on one subnet would receive each other's
// packets.
func (c *Cluster) createNetwork(ctx context.Context) (subnet, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return subnet{}, fmt.Errorf("the addresses of this machine: %w", err)
	}
	var errs []error
	for third := range 256 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 31, byte(third), 0}), 24)
		if inUse(prefix, addresses) {
			errs = append(errs, fmt.Errorf("this machine has an address in %s", prefix))
			continue
		}
		created, err := testnetwork.New(ctx,
			testnetwork.WithLabels(map[string]string{labelOwner: owner()}),
			testnetwork.WithIPAM(&network.IPAM{Config: []network.IPAMConfig{{Subnet: prefix.String()}}}))
		if err == nil {
			c.state.Network = created.Name
			return subnet{prefix}, nil
		}
		errs = append(errs, err)
		if !strings.Contains(err.Error(), "overlaps") {
			break
		}
	}
	return subnet{}, fmt.Errorf("making a network: %w", errs[len(errs)-1])
}

// inUse reports whether one of the machine's addresses is in a subnet.
func inUse(prefix netip.Prefix, addresses []net.Addr) bool {
	return slices.ContainsFunc(addresses, func(address net.Addr) bool {
		own, err := netip.ParsePrefix(address.String())
		return err == nil && prefix.Contains(own.Addr())
	})
}

func (c *Cluster) labels() map[string]string {
	return map[string]string{labelOwner: owner(), labelNetwork: c.state.Network}
}

// owner returns a string that identifies this process: its process id and its start time,
// because process ids are reused.
func owner() string {
	return strconv.Itoa(os.Getpid()) + "." + startTime(os.Getpid())
}

// startTime returns the start time of a process, which is field 22 of /proc/PID/stat. It
// returns "" if the process does not exist.
func startTime(pid int) string {
	content, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The second field is the command in parentheses. It can contain any bytes, including
	// spaces and parentheses.
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	return fields[19]
}

// ownerEnded reports whether the process that owner identifies has ended.
func ownerEnded(owner string) bool {
	id, start, _ := strings.Cut(owner, ".")
	pid, err := strconv.Atoi(id)
	return err != nil || startTime(pid) != start
}

// removeAbandoned removes containers and networks whose owner has ended without removing them,
// for example because it was killed.
func (c *Cluster) removeAbandoned(ctx context.Context) error {
	containers, err := c.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	if err != nil {
		return fmt.Errorf("docker: %w", err)
	}
	var errs []error
	for _, left := range containers {
		if ownerEnded(left.Labels[labelOwner]) {
			errs = append(errs, c.removeContainer(ctx, left.ID))
		}
	}
	networks, err := c.docker.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelOwner))})
	errs = append(errs, err)
	for _, left := range networks {
		if ownerEnded(left.Labels[labelOwner]) {
			errs = append(errs, c.docker.NetworkRemove(ctx, left.ID))
		}
	}
	return errors.Join(errs...)
}

// remove removes the network with the given name and all containers of its cluster.
func (c *Cluster) remove(ctx context.Context, name string) error {
	if name == "" {
		return nil // the network was never created
	}
	containers, err := c.docker.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelNetwork+"="+name))})
	errs := []error{err}
	for _, each := range containers {
		errs = append(errs, c.removeContainer(ctx, each.ID))
	}
	return errors.Join(append(errs, c.docker.NetworkRemove(ctx, name))...)
}

// removeContainer kills and removes a container. It does nothing if the container does not
// exist.
func (c *Cluster) removeContainer(ctx context.Context, id string) error {
	err := c.docker.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	return nil
}
