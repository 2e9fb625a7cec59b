package executorbackend

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/broadcast"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/route"
)

// openDataPort opens the executor's data port, from which peers fetch blocks. It listens on the
// local address that this host uses for connections to the driver. If blockManager.port is set
// and in use, it tries the next ports, as Spark does.
func openDataPort(ctx context.Context, options Options, driver string, open transfer.Open, serving transfer.Options) (*transfer.Server, error) {
	host, err := route.SourceIP(ctx, []string{driver})
	if err != nil {
		return nil, fmt.Errorf("find the address by which this host reaches the driver at %s: %w", driver, err)
	}
	first := config.BlockManagerPort.In(options.Config)
	last := first
	if first != 0 {
		last += config.PortMaxRetries.In(options.Config)
	}
	server, err := transfer.ListenWithin(host.String(), first, last, open, serving)
	if err != nil {
		return nil, fmt.Errorf("%w (%s=%d, %s=%d)", err, config.BlockManagerPort.Name(), first,
			config.PortMaxRetries.Name(), config.PortMaxRetries.In(options.Config))
	}
	return server, nil
}

// dataPortOptions returns the options for serving this executor's blocks and for fetching blocks
// from its peers.
func dataPortOptions(options Options, pass *identity.Pass) (transfer.Options, error) {
	access, err := pass.PeerTLS()
	return transfer.Options{TLS: access, Timeout: config.NetworkTimeout.In(options.Config), Logger: options.Logger}, err
}

// openBlock opens a block for a peer. It uses fields that startServices sets. They are set
// before the first call, because peers get the address of the data port only when the executor
// registers, after startServices.
func (x *executor) openBlock(id block.ID) (transfer.Content, error) {
	if broadcast.IsPiece(id) {
		return x.broadcasts.Open(id)
	}
	return x.shuffles.Open(id)
}
