package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/eventlog/historyserver"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

const (
	// headerTimeout limits how long a client may take to send the header of a request.
	headerTimeout = 10 * time.Second
	// serverCloseTimeout is how long the server waits for open requests when it stops.
	serverCloseTimeout = 5 * time.Second
)

// historyServerFlags are the flags of the command history that make it serve all logs of a
// directory.
type historyServerFlags struct {
	address    string // host:port; "" if the command serves no directory
	userHeader string
	proxies    []string

	trusted []netip.Prefix // addresses of trusted proxies, parsed
}

func addTeamServer(c *cobra.Command) *historyServerFlags {
	s := &historyServerFlags{}
	c.Flags().StringVar(&s.address, "listen", "", "`HOST:PORT`: serve all applications of the directory there, until Ctrl-C or SIGTERM")
	c.Flags().StringVar(&s.userHeader, "user-header", "", "`NAME`: the header in which an authenticating proxy names the reader")
	c.Flags().StringSliceVar(&s.proxies, "trusted-proxies", []string{"127.0.0.0/8", "::1/128"}, "`ADDRESSES`: from which that header is believed, with commas; IP addresses or networks as 10.1.0.0/16")
	return s
}

// check checks the flags. args are the arguments of the command history.
func (s *historyServerFlags) check(args []string) error {
	switch {
	case s.address == "" && s.userHeader != "":
		return errors.New("--user-header is for a server: give --listen, too")
	case s.address == "":
		return nil
	case len(args) > 0:
		return errors.New("--listen serves all applications of the directory: leave out the application-id, or --listen")
	}
	if _, _, err := net.SplitHostPort(s.address); err != nil {
		return fmt.Errorf("--listen %s: want HOST:PORT, such as 127.0.0.1:18480: %w", s.address, err)
	}
	for _, text := range s.proxies {
		prefix, err := netip.ParsePrefix(text)
		if address, failure := netip.ParseAddr(text); failure == nil {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("--trusted-proxies %s: want IP addresses, or networks such as 10.1.0.0/16", text)
		}
		s.trusted = append(s.trusted, prefix)
	}
	return nil
}

// serve serves the logs of the directory until ctx ends.
func (s *historyServerFlags) serve(ctx context.Context, t terminal, h *historyReader) error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return client.UsageError(fmt.Errorf("--listen: %w", err))
	}
	logs := historyserver.New(historyserver.Options{
		Files: h.files, Directory: h.directory, UserHeader: s.userHeader, Proxies: s.trusted, Logger: t.logger(false),
	})
	defer logs.Close()
	var handler http.Handler = logs
	switch {
	case s.userHeader != "":
	case listener.Addr().(*net.TCPAddr).IP.IsLoopback():
		handler = ui.Local(handler) // so that pages of other servers in the user's browser cannot read the logs
	default:
		t.console.Warn("everyone who reaches %s sees the applications that have no acls.enable, see --user-header", listener.Addr())
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.console.Print("the applications in %s, until Ctrl-C:", h.directory)
	_, err = fmt.Fprintf(t.stdout, "http://%s/\n", listener.Addr())
	if err == nil {
		select {
		case err = <-served:
			return err
		case <-ctx.Done():
			if cause := context.Cause(ctx); !interrupt.IsCtrlC(cause) {
				err = cause
			}
		}
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverCloseTimeout)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close()
	}
	<-served
	return err
}
