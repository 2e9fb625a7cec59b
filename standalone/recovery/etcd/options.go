package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"
)

const (
	defaultLease   = 10 * time.Second
	defaultTimeout = 5 * time.Second

	// A connection that receives nothing for pingAfter is pinged. If there is no answer within
	// pingWait, it is closed. Servers refuse pings that are more frequent than every 5 s.
	pingAfter = 10 * time.Second
	pingWait  = 3 * time.Second
)

// Options configure Open.
type Options struct {
	// Endpoints are the URLs of the servers, all with http:// or all with https://.
	Endpoints []string
	// Directory is the prefix of the cluster's keys, such as /bobbin. Masters with the same
	// Directory belong to the same cluster.
	Directory string
	// TLS is the configuration for https://. nil means the operating system's trusted
	// authorities and no client certificate.
	TLS *tls.Config
	// Username and Password authenticate to the servers. "" means no authentication.
	Username, Password string
	// Lease is the time from the leader's last renewal until another master can be elected, in
	// whole seconds. 0 means 10 s. An election among the etcd servers may extend this time.
	Lease time.Duration
	// Timeout limits the duration of one call. 0 means 5 s.
	Timeout time.Duration
	// Logger receives changes of the leader, and failed attempts. nil logs nothing.
	Logger *slog.Logger
}

// complete checks the options and sets defaults.
func (o *Options) complete() error {
	if len(o.Endpoints) == 0 {
		return errors.New("etcd: no endpoint: set recovery.etcd.endpoints, such as https://host:2379")
	}
	schemes := map[string]bool{}
	for _, endpoint := range o.Endpoints {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("etcd: the endpoint %q: want http://host:port or https://host:port", endpoint)
		}
		schemes[u.Scheme] = true
	}
	switch {
	case len(schemes) > 1:
		return fmt.Errorf("etcd: the endpoints %s: want all http:// or all https://", o.where())
	case schemes["http"] && o.TLS != nil:
		return fmt.Errorf("etcd: the endpoints %s are http://, and certificates are set for them: want https://", o.where())
	case schemes["https"] && o.TLS == nil:
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.Directory = "/" + strings.Trim(o.Directory, "/")
	if o.Directory == "/" {
		return errors.New("etcd: no directory: set recovery.etcd.directory, such as /bobbin")
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.Lease < time.Second || o.Lease%time.Second != 0 {
		return fmt.Errorf("etcd: a lease of %v: want whole seconds, at least one", o.Lease)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func (o *Options) where() string { return strings.Join(o.Endpoints, ",") }
