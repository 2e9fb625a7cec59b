package page

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
)

// names resolves host names by a table, and counts the look-ups.
type names struct {
	addresses map[string]string
	lookups   int
}

func (n *names) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	n.lookups++
	address, ok := n.addresses[host]
	if !ok {
		return nil, errors.New("no such host")
	}
	return []netip.Addr{netip.MustParseAddr(address)}, nil
}

func newTestGate(t *testing.T, hadoop map[string]string, active int, known *names) *gate {
	t.Helper()
	g, err := newGate(conf.FromMap(hadoop), "application_1_0001", func() int { return active }, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	g.lookup = known.lookup
	return g
}

// askFrom requests a page from the given address, and returns the URL of the redirect; "" for none.
func askFrom(t *testing.T, g *gate, address string) string {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/api/status?a=b", nil)
	request.RemoteAddr = address
	answer := httptest.NewRecorder()
	g.before(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(answer, request)
	if answer.Code == http.StatusOK {
		return ""
	}
	require.Equal(t, http.StatusFound, answer.Code)
	return answer.Header().Get("Location")
}

func TestOnlyTheWebProxyReachesThePage(t *testing.T) {
	two := map[string]string{
		"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "a,b",
		"yarn.resourcemanager.hostname.a": "rm-a", "yarn.resourcemanager.hostname.b": "rm-b",
	}
	for name, test := range map[string]struct {
		hadoop   map[string]string
		active   int
		admitted []string
		to       string // expected target of the redirect
	}{
		"one ResourceManager": {map[string]string{"yarn.resourcemanager.hostname": "rm-a"}, 0,
			[]string{"10.0.0.1:1", "[::ffff:10.0.0.1]:2"}, "http://rm-a:8088"},
		"two ResourceManagers, the first is active":  {two, 0, []string{"10.0.0.1:1", "[fd00::2]:2"}, "http://rm-a:8088"},
		"two ResourceManagers, the second is active": {two, 1, []string{"10.0.0.1:1", "[fd00::2]:2"}, "http://rm-b:8088"},
		"a proxy outside of the ResourceManager": {map[string]string{"yarn.resourcemanager.hostname": "rm-a", "yarn.web-proxy.address": "proxy:9099", "yarn.http.policy": "HTTPS_ONLY"}, 0,
			[]string{"10.0.0.3:1"}, "https://proxy:9099"},
		"a proxy whose address is a URL":    {map[string]string{"yarn.web-proxy.address": "https://proxy:9099"}, 1, []string{"10.0.0.3:1"}, "https://proxy:9099"},
		"a ResourceManager on this machine": {map[string]string{"yarn.resourcemanager.hostname": "localhost"}, 0, []string{"127.0.0.1:1", "127.0.0.12:2"}, "http://localhost:8088"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTestGate(t, test.hadoop, test.active, &names{addresses: map[string]string{
				"rm-a": "10.0.0.1", "rm-b": "fd00::2", "proxy": "10.0.0.3", "localhost": "127.0.0.1",
			}})
			for _, address := range test.admitted {
				require.Empty(t, askFrom(t, g, address), address)
			}
			for _, address := range []string{"10.0.0.9:1", "[fd00::9]:1"} {
				require.Equal(t, test.to+"/proxy/redirect/application_1_0001/api/status?a=b", askFrom(t, g, address))
			}
		})
	}
	g := newTestGate(t, map[string]string{"yarn.resourcemanager.hostname": "rm-a", "yarn.web-proxy.address": "proxy:9099"}, 0,
		&names{addresses: map[string]string{"rm-a": "10.0.0.1", "proxy": "10.0.0.3"}})
	require.NotEmpty(t, askFrom(t, g, "10.0.0.1:1"), "the ResourceManager runs no proxy where there is another")
}

func TestTheProxysAddressMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := &names{addresses: map[string]string{}}
		g := newTestGate(t, map[string]string{"yarn.resourcemanager.hostname": "rm"}, 0, known)
		require.NotEmpty(t, askFrom(t, g, "10.0.0.1:1"), "its name is not known yet")
		known.addresses["rm"] = "10.0.0.1"
		time.Sleep(lookupInterval)
		require.Empty(t, askFrom(t, g, "10.0.0.1:1"))

		known.addresses["rm"] = "10.0.0.2"
		time.Sleep(lookupInterval)
		require.Empty(t, askFrom(t, g, "10.0.0.2:1"))
		require.NotEmpty(t, askFrom(t, g, "10.0.0.1:1"), "it may be somebody else's now")

		delete(known.addresses, "rm")
		time.Sleep(lookupInterval)
		require.Empty(t, askFrom(t, g, "10.0.0.2:1"), "names cannot be looked up for a while")

		known.lookups = 0
		for range 200 {
			askFrom(t, g, "10.0.0.9:1")
			time.Sleep(lookupInterval / 100)
		}
		require.Equal(t, 1, known.lookups)
	})
}

func TestAnInvalidProxyAddressIsAnError(t *testing.T) {
	_, err := newGate(conf.FromMap(map[string]string{"yarn.web-proxy.address": "http://:9099"}), "application_1_0001", nil, nil)
	require.ErrorContains(t, err, "yarn.web-proxy.address")
}
