//go:build kerberos

package kerberos

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// wordsInClear contains, for each daemon, a word that is visible on the network if connections
// to the daemon are not encrypted: the name of an RPC method, or the text that testWordCount
// counts.
var wordsInClear = map[string]string{
	"NameNode":                  "getBlockLocations",
	"ResourceManager":           "submitApplication",
	"ResourceManager's AMs":     "allocate",
	"ResourceManager's workers": "nodeHeartbeat",
	"NodeManager":               "startContainers",
	"DataNode 1":                markedLine,
	"DataNode 2":                markedLine,
}

// markedLine is a line of the text that testWordCount counts. No other test sends this line.
var markedLine = "ape bee " + rand.Text()[:8] + "\n"

// capture contains what capturePackets has seen on loopback.
type capture struct {
	sockets   map[string]string         // daemon names by address
	traffic   map[string]int            // bytes sent and received, by daemon
	wordsSeen map[string]map[string]int // how often each word was seen, by daemon; "" means connections without a daemon in sockets
}

// capturePackets captures all packets on loopback until stop is called, which returns the
// capture. It requires root.
func (s *kerberosCluster) capturePackets(t *testing.T) (stop func() *capture) {
	c := &capture{traffic: map[string]int{}, wordsSeen: map[string]map[string]int{}, sockets: map[string]string{
		s.NameNode().Address(cluster.RPC):              "NameNode",
		s.ResourceManager().Address(cluster.RPC):       "ResourceManager",
		s.ResourceManager().Address(cluster.Scheduler): "ResourceManager's AMs",
		s.ResourceManager().Address(cluster.Tracker):   "ResourceManager's workers",
		s.Nodes()[0].NodeManager.Address(cluster.RPC):  "NodeManager",
		s.Nodes()[1].NodeManager.Address(cluster.RPC):  "NodeManager",
		s.Nodes()[0].DataNode.Address(cluster.RPC):     "DataNode 1",
		s.Nodes()[1].DataNode.Address(cluster.RPC):     "DataNode 2",
	}}
	loopback, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	const ipv4 = 0x0008 // ETH_P_IP in network byte order
	socket, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, ipv4)
	require.NoError(t, err, "a capture needs root")
	require.NoError(t, syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_RCVBUFFORCE, 64<<20))
	pause := syscall.NsecToTimeval((100 * time.Millisecond).Nanoseconds())
	require.NoError(t, syscall.SetsockoptTimeval(socket, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &pause))
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrLinklayer{Protocol: ipv4, Ifindex: loopback.Index}))
	stopping := make(chan struct{})
	var receiving sync.WaitGroup
	receiving.Go(func() {
		packet := make([]byte, 1<<17)
		for {
			n, from, err := syscall.Recvfrom(socket, packet, 0)
			if link, ok := from.(*syscall.SockaddrLinklayer); err == nil && ok && link.Pkttype != syscall.PACKET_OUTGOING {
				c.search(packet[:n]) // loopback delivers each packet twice: as outgoing and as incoming
			}
			select {
			case <-stopping:
				return
			default:
			}
		}
	})
	return func() *capture {
		close(stopping)
		receiving.Wait()
		require.NoError(t, syscall.Close(socket))
		return c
	}
}

// search adds an IPv4 packet to the capture.
func (c *capture) search(packet []byte) {
	const tcp, addresses, ports = 6, 12, 4 // protocol number; offset of IP addresses; bytes of both TCP ports
	if len(packet) < 20 || packet[9] != tcp {
		return
	}
	header := int(packet[0]&0xf) * 4
	if len(packet) < header+20 {
		return
	}
	segment := packet[header:]
	payload := segment[min(len(segment), int(segment[12]>>4)*4):]
	daemon := ""
	for end := range 2 {
		ip := net.IP(packet[addresses+4*end : addresses+4*end+4])
		port := binary.BigEndian.Uint16(segment[ports/2*end:])
		if name, known := c.sockets[(&net.TCPAddr{IP: ip, Port: int(port)}).String()]; known {
			daemon = name
		}
	}
	c.traffic[daemon] += len(payload)
	for _, word := range wordsInClear {
		if bytes.Contains(payload, []byte(word)) {
			if c.wordsSeen[daemon] == nil {
				c.wordsSeen[daemon] = map[string]int{}
			}
			c.wordsSeen[daemon][word]++
		}
	}
}

// requireOnlyInClear checks that connections to exactly the daemons in clear were not
// encrypted. The text that testWordCount counts must not have been sent on any other
// connection.
func (c *capture) requireOnlyInClear(t *testing.T, clear map[string]bool) {
	for daemon, word := range wordsInClear {
		assert.NotZero(t, c.traffic[daemon], "%s was used", daemon)
		assert.Equal(t, clear[daemon], c.wordsSeen[daemon][word] > 0, "%q in clear at the %s", word, daemon)
	}
	assert.Zero(t, c.wordsSeen[""][markedLine], "at other ports")
}
