package masterurl

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// DefaultPort is the port of a standalone master if the URL contains no port.
const DefaultPort = 7077

// scheme is the beginning of the URLs of standalone masters.
const scheme = "bobbin://"

// ParseStandalone returns the addresses (host:port) of the masters in a URL such as
// "bobbin://host:port,host:port". The default port is DefaultPort; an IPv6 address must
// be in brackets.
func ParseStandalone(url string) ([]string, error) {
	wrong := func(reason string) error {
		return fmt.Errorf("master %q: %s: it looks like bobbin://host:%d or bobbin://host1,host2", url, reason, DefaultPort)
	}
	list, ok := strings.CutPrefix(url, scheme)
	if !ok {
		return nil, wrong("it does not begin with " + scheme)
	}
	var addresses []string
	for one := range strings.SplitSeq(list, ",") {
		address, err := parseAddress(strings.TrimSpace(one))
		if err != nil {
			return nil, wrong(err.Error())
		}
		if slices.Contains(addresses, address) {
			return nil, wrong(address + " is named twice")
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

// StandaloneURL returns the URL of the masters at the given addresses.
func StandaloneURL(addresses ...string) string { return scheme + strings.Join(addresses, ",") }

func parseAddress(address string) (string, error) {
	host, port := address, ""
	if !strings.HasPrefix(address, "[") || !strings.HasSuffix(address, "]") {
		if at := strings.LastIndexByte(address, ':'); at >= 0 {
			host, port = address[:at], address[at+1:]
			if port == "" {
				return "", fmt.Errorf("%q has no port behind its colon", address)
			}
		}
	}
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
		if net.ParseIP(host) == nil || !strings.Contains(host, ":") {
			return "", fmt.Errorf("%q is no IPv6 address", host)
		}
	} else if strings.ContainsAny(host, "[]:") {
		return "", fmt.Errorf("%q is no host: an IPv6 address stands in brackets", host)
	}
	if host == "" {
		return "", errors.New("it names no host")
	}
	if strings.ContainsAny(host, "/?#@ \t\r\n") || strings.ContainsFunc(host, func(r rune) bool { return r < ' ' }) {
		return "", fmt.Errorf("%q is no host", host)
	}
	number := uint64(DefaultPort)
	if port != "" {
		var err error
		if number, err = strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return "", fmt.Errorf("%q is no port: want 1 to 65535", port)
		}
	}
	return net.JoinHostPort(host, strconv.FormatUint(number, 10)), nil
}
