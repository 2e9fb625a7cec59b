package yarntest

import (
	"fmt"
	"net"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// master is a ResourceManager with its servers. Cluster contains the applications and nodes,
// because only the active ResourceManager knows them.
type master struct {
	cluster *Cluster
	host    string
	// up is true while the ResourceManager runs, and serving while it is active.
	up, serving bool

	scheduler, client *ipctest.Server
	schedulerRPC      endpoint
	clientRPC         endpoint
	web               endpoint
}

// masterHost returns the host name of a ResourceManager. With TCP, all run on 127.0.0.1.
func masterHost(network Network, index int) string {
	if _, ok := network.(tcp); ok {
		return "127.0.0.1"
	}
	return fmt.Sprintf("rm-%d", index+1)
}

func (c *Cluster) newMaster(index int) (*master, error) {
	m := &master{cluster: c, host: masterHost(c.network, index), up: true}
	m.scheduler = ipctest.New(ipctest.Options{Password: c.amrmPassword, Fault: c.faultsAt(m.host)})
	ipctest.Handle(m.scheduler, yarn.ApplicationMasterProtocol, "registerApplicationMaster", c.registerMaster)
	ipctest.Handle(m.scheduler, yarn.ApplicationMasterProtocol, "allocate", c.allocateCall)
	ipctest.Handle(m.scheduler, yarn.ApplicationMasterProtocol, "finishApplicationMaster", c.finishMaster)
	m.client = ipctest.New(ipctest.Options{Fault: c.faultsAt(m.host)})
	ipctest.Handle(m.client, yarn.ApplicationClientProtocol, "getApplicationReport", c.applicationReport)
	var err error
	if m.schedulerRPC, err = c.network.listen(m.host, 0, m.scheduler.ServeConn); err != nil {
		return m, fmt.Errorf("scheduler of %s: %w", m.host, err)
	}
	if m.clientRPC, err = c.network.listen(m.host, 0, m.client.ServeConn); err != nil {
		return m, fmt.Errorf("client service of %s: %w", m.host, err)
	}
	if m.web, err = c.network.listen(m.host, 0, c.web.serveConn); err != nil {
		return m, fmt.Errorf("web server of %s: %w", m.host, err)
	}
	return m, nil
}

func (m *master) address(e endpoint) string {
	return net.JoinHostPort(m.host, strconv.Itoa(e.port()))
}

// serve makes the ResourceManager active if serving is true. Otherwise it makes the
// ResourceManager inactive and aborts pending calls.
func (m *master) serve(serving bool) error {
	m.serving = serving
	if serving {
		if err := m.schedulerRPC.open(); err != nil {
			return err
		}
		return m.clientRPC.open()
	}
	for _, e := range []endpoint{m.schedulerRPC, m.clientRPC} {
		e.close()
	}
	m.scheduler.DropConnections()
	m.client.DropConnections()
	return nil
}

func (m *master) close() {
	for _, e := range []endpoint{m.schedulerRPC, m.clientRPC, m.web} {
		if e != nil {
			e.close()
		}
	}
	m.scheduler.Close()
	m.client.Close()
}

// active returns the active ResourceManager, or nil.
func (c *Cluster) active() *master {
	for _, m := range c.masters {
		if m.serving {
			return m
		}
	}
	return nil
}

// SchedulerAddresses returns the ResourceManagers' addresses for ApplicationMasterProtocol.
func (c *Cluster) SchedulerAddresses() []string {
	return c.addresses(func(m *master) endpoint { return m.schedulerRPC })
}

// ClientAddresses returns the ResourceManagers' addresses for ApplicationClientProtocol.
func (c *Cluster) ClientAddresses() []string {
	return c.addresses(func(m *master) endpoint { return m.clientRPC })
}

// WebAddresses returns the ResourceManagers' addresses for the REST API.
func (c *Cluster) WebAddresses() []string {
	return c.addresses(func(m *master) endpoint { return m.web })
}

func (c *Cluster) addresses(endpointOf func(*master) endpoint) []string {
	addresses := make([]string, len(c.masters))
	for i, m := range c.masters {
		addresses[i] = m.address(endpointOf(m))
	}
	return addresses
}
