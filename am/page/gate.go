package page

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

const (
	// lookupInterval is the minimum time between two look-ups of the web proxies' addresses.
	lookupInterval = 10 * time.Second
	// lookupTimeout limits the duration of such a look-up.
	lookupTimeout = 5 * time.Second
)

// gate accepts requests from YARN's web proxy, which authenticates users, and redirects all other
// requests to the proxy, as Hadoop's AmIpFilter does. If the page is served by HTTPS, gate
// identifies the proxy by its certificate, and otherwise by its address.
type gate struct {
	hosts  []string   // hosts of the web proxies: one host, or the host of each ResourceManager
	bases  []string   // scheme://host:port of each proxy
	pages  []string   // URL of the application's page at each proxy
	active func() int // returns the index of the proxy that serves the application
	// apart is set if the proxy runs outside of the ResourceManager. Such a proxy has no
	// certificate, and does not accept the certificate of the page.
	apart        bool
	certificates *certificates // nil if the page is served by HTTP
	lookup       func(ctx context.Context, host string) ([]netip.Addr, error)
	logger       *slog.Logger
	warned       sync.Once

	mu        sync.Mutex
	addresses map[string][]netip.Addr // addresses by host, from the last successful look-up
	lookedUp  time.Time
}

// newGate determines the web proxies as WebAppUtils.getProxyHostsAndPortsForAmFilter does:
// yarn.web-proxy.address or, if that is not set, the ResourceManagers. activeRM returns the index
// of the active ResourceManager.
func newGate(hadoop *conf.Config, application string, activeRM func() int, logger *slog.Logger) (*gate, error) {
	g := &gate{
		active: activeRM, logger: logger, addresses: map[string][]netip.Addr{},
		lookup: func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		},
	}
	addresses, err := hadoop.ResourceManagers("yarn.resourcemanager.webapp.address")
	if err != nil {
		return nil, err
	}
	if proxy, _ := hadoop.Get("yarn.web-proxy.address"); proxy != "" {
		g.apart = !slices.Contains(addresses, proxy)
		addresses, g.active = []string{proxy}, func() int { return 0 }
	}
	scheme := "http"
	if hadoop.HTTPSOnly() {
		scheme = "https"
	}
	for _, address := range addresses {
		if !strings.Contains(address, "://") {
			address = scheme + "://" + address
		}
		base, err := url.Parse(address)
		if err != nil || base.Hostname() == "" {
			return nil, fmt.Errorf("%q is not the address of a web proxy: see yarn.web-proxy.address and yarn.resourcemanager.webapp.address", address)
		}
		g.hosts = append(g.hosts, base.Hostname())
		g.bases = append(g.bases, origin(base))
		// If the gate does not recognize the proxy's address, it redirects the proxy's own requests
		// to the proxy. By "redirect" in the path, the proxy detects this loop
		// (WebAppProxyServlet.handleRedirect).
		g.pages = append(g.pages, base.Scheme+"://"+base.Host+"/proxy/redirect/"+application)
	}
	return g, nil
}

// origin returns the origin of a URL as browsers write it: without the port if it is the default
// port of the scheme.
func origin(u *url.URL) string {
	host := u.Host
	if port := map[string]string{"http": "80", "https": "443"}[u.Scheme]; u.Port() == port {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return strings.ToLower(u.Scheme + "://" + host)
}

// origins returns the origins of the URLs by which users open the application's pages.
func (g *gate) origins() []string { return g.bases }

// before returns a handler that passes requests of the proxies to next. It redirects all other
// requests to the active proxy.
func (g *gate) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.isFromProxy(r) {
			next.ServeHTTP(w, r)
			return
		}
		g.warned.Do(func() {
			remedy := "; if it was the proxy's, check yarn.web-proxy.address and the ResourceManager's web address"
			if g.certificates != nil {
				remedy = ", as it did not have the proxy's certificate"
			}
			g.logger.Info("a request for the application's page did not come from the web proxy and was redirected to it"+remedy,
				"from", r.RemoteAddr, "proxies", g.hosts)
		})
		http.Redirect(w, r, g.pages[g.active()]+r.URL.RequestURI(), http.StatusFound)
	})
}

func (g *gate) isFromProxy(r *http.Request) bool {
	if g.certificates != nil {
		return g.certificates.isProxy(r)
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && g.admits(r.Context(), from.Addr().Unmap().WithZone(""))
}

func (g *gate) admits(ctx context.Context, from netip.Addr) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.lookedUp) >= lookupInterval {
		g.resolve(ctx)
		g.lookedUp = time.Now()
	}
	for _, addresses := range g.addresses {
		for _, address := range addresses {
			if address == from {
				return true
			}
			// The requests of a proxy with a loopback or unspecified address may come from any
			// address of this machine (WebAppUtils.getResolvedAddress).
			if (address.IsLoopback() || address.IsUnspecified()) && isOfThisMachine(from) {
				return true
			}
		}
	}
	return false
}

// resolve looks up the addresses of the proxies' hosts. If the look-up of a host fails, the
// addresses of its last successful look-up remain.
func (g *gate) resolve(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
	defer cancel()
	for _, host := range g.hosts {
		addresses, err := g.lookup(ctx, host)
		if err != nil {
			g.logger.Warn("the web proxy's address cannot be found", "host", host, "error", err)
			continue
		}
		for i := range addresses {
			addresses[i] = addresses[i].Unmap().WithZone("")
		}
		g.addresses[host] = addresses
	}
}

func isOfThisMachine(address netip.Addr) bool {
	if address.IsLoopback() {
		return true
	}
	own, _ := net.InterfaceAddrs() // after an error, no address counts as this machine's
	for _, local := range own {
		if network, ok := local.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(network.IP); ok && ip.Unmap() == address {
				return true
			}
		}
	}
	return false
}
