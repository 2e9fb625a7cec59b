package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// diagnose returns the reason why calls to the servers fail, or nil if each server accepts a
// connection. The error of a call does not contain the reason, because the client retries
// after any error until its deadline.
func (o *Options) diagnose(ctx context.Context) error {
	ctx, done := context.WithTimeout(ctx, o.Timeout)
	defer done()
	var found []error
	for _, endpoint := range o.Endpoints {
		if err := o.connect(ctx, endpoint); err != nil {
			found = append(found, fmt.Errorf("%s: %w", endpoint, err))
		}
	}
	return errors.Join(found...)
}

// connect opens a TCP connection to a server. With https://, it also waits for the first byte
// from the server, which the server sends only after it has accepted the client's certificate.
func (o *Options) connect(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if u.Scheme != "https" {
		return nil
	}
	settings := o.TLS.Clone()
	settings.ServerName, settings.NextProtos = u.Hostname(), []string{"h2"}
	secured := tls.Client(connection, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = secured.SetReadDeadline(deadline)
	}
	_, err = secured.Read(make([]byte, 1))
	return err
}
