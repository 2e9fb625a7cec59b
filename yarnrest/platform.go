package yarnrest

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// jmxPath is the path at which every Hadoop daemon serves its JMX beans (JMXJsonServlet.java).
// A standby ResourceManager serves it too, because RMWebAppFilter.java does not redirect this
// path.
const jmxPath = "/jmx"

// systemBean is the query for the bean that describes the operating system.
var systemBean = url.Values{"qry": {"java.lang:type=OperatingSystem"}}

// Platform returns the platform of the ResourceManager's machine in Go's terms,
// such as "linux/amd64". Clusters may restrict the request to administrators
// (hadoop.security.instrumentation.requires.admin), and gateways such as Knox may
// not forward it.
func (c *Client) Platform(ctx context.Context) (string, error) {
	a, root, err := c.get(ctx, jmxPath, systemBean)
	if err != nil {
		return "", err
	}
	return platform(a, root)
}

// Platform returns the platform of the NodeManager's machine, in the form of
// [Client.Platform].
func (n *NodeManager) Platform(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, n.client.requestTimeout)
	defer cancel()
	response, err := n.open(ctx, restRequest{method: http.MethodGet, path: jmxPath, query: systemBean})
	if err != nil {
		return "", err
	}
	a := successResponse{url: n.base + jmxPath}
	if a.body, err = readAll(response); err != nil {
		return "", err
	}
	root, err := a.json()
	if err != nil {
		return "", err
	}
	return platform(a, root)
}

// platform converts Java's names of the operating system and the processor to Go's names.
func platform(a successResponse, root jsonValue) (string, error) {
	for _, bean := range root.at("beans").list() {
		system, processor := strings.ToLower(bean.at("Name").text()), strings.ToLower(bean.at("Arch").text())
		switch processor {
		case "aarch64":
			processor = "arm64"
		case "x86_64":
			processor = "amd64"
		}
		if system != "" && processor != "" {
			return system + "/" + processor, nil
		}
	}
	return "", a.missingPart("operating system's bean")
}
