package shufflehandler

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxRequestURI is the largest size in bytes of a request's URI. It limits the request's
	// first line to the 4,096 bytes that the service accepts (Netty's HttpRequestDecoder).
	maxRequestURI = 4000
	// maxMessage is the number of bytes of an error reply's text that are read.
	maxMessage = 1 << 10
	// busyDelay is the pause before the client repeats a request that the service refused
	// because of too many connections (ShuffleHandler.FETCH_RETRY_DELAY).
	busyDelay = time.Second
)

// ErrUnreachable means that the service did not answer, or that the connection ended before the
// reply was complete.
var ErrUnreachable = errors.New("the shuffle service of the node cannot be reached")

// StatusError is a reply with an HTTP status other than 200: 401 if the service does not
// know the application or its password, 500 if it cannot open an output's files.
type StatusError struct {
	Code    int
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the shuffle service of the node replied with status %d (%s)", e.Code, cmp.Or(e.Message, http.StatusText(e.Code)))
}

// Options configure a Client.
type Options struct {
	// Application is the application whose outputs are fetched, such as
	// "application_1410901177871_0001".
	Application string
	// Password is the password in the containers' [ServiceData].
	Password []byte
	// Timeout limits the time to connect, and the time of each read and write. A request that
	// exceeds it fails. Executors set it to network.timeout. 0 means two minutes.
	Timeout time.Duration
}

// Client fetches partitions of map outputs from the services of NodeManagers. It is safe
// for concurrent use.
type Client struct {
	job      string
	password []byte
	timeout  time.Duration
	http     http.Client
	// algorithm is the index, in algorithms, of the hash function in the last request that a
	// service accepted.
	algorithm atomic.Int32
}

// algorithms are the hash functions that a cluster may use. SHA-1 is Hadoop's default. Since
// Hadoop 3.5, the cluster's configuration can select another hash function, such as SHA-256
// (YARN-11738).
var algorithms = []func() hash.Hash{sha1.New, sha256.New}

// NewClient returns a Client.
func NewClient(options Options) *Client {
	c := &Client{
		job:      jobOf(options.Application),
		password: options.Password,
		timeout:  cmp.Or(options.Timeout, 2*time.Minute),
	}
	c.http.Transport = &http.Transport{
		DialContext:        c.dial,
		DisableKeepAlives:  true, // by default, the service closes a connection after one request
		DisableCompression: true,
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{Timeout: c.timeout}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return timedConn{connection, c.timeout}, nil
}

// timedConn is a connection on which each read and each write fails after timeout.
type timedConn struct {
	net.Conn
	timeout time.Duration
}

func (c timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Section is the partition of one map output in a reply. It reads the partition's bytes from
// the network.
type Section struct {
	MapID string
	Size  int64

	reply *bufio.Reader
	left  int64
}

// Read reads the partition's bytes. It fails with ErrUnreachable if the connection ends before
// the last byte.
func (s *Section) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.reply.Read(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); err != nil && s.left > 0 {
		return n, fmt.Errorf("%w: %w", ErrUnreachable, noEOF(err))
	}
	return n, nil
}

// Fetch requests one partition of several map outputs from the service at address, host:port.
// It yields a section for each map output, in the order of mapIDs. A section can be read until
// the next section is yielded. The sequence ends after an error, which wraps ErrUnreachable or
// ErrMalformed, or is a *StatusError or ctx's cause. One request is for several outputs, so the
// error may concern any output whose section was not yielded, not only the next one.
func (c *Client) Fetch(ctx context.Context, address string, partition int, mapIDs []string) iter.Seq2[*Section, error] {
	return func(yield func(*Section, error) bool) {
		for len(mapIDs) > 0 {
			uri, n := c.requestURI(partition, mapIDs)
			if !c.fetch(ctx, address, uri, partition, mapIDs[:n], yield) {
				return
			}
			mapIDs = mapIDs[n:]
		}
	}
}

// requestURI returns the URI of a request for mapIDs[:n], where n is as large as maxRequestURI
// allows, but at least 1.
func (c *Client) requestURI(partition int, mapIDs []string) (uri string, n int) {
	var b strings.Builder
	fmt.Fprintf(&b, Path+"?job=%s&reduce=%d&map=%s", url.QueryEscape(c.job), partition, url.QueryEscape(mapIDs[0]))
	for n = 1; n < len(mapIDs); n++ {
		id := url.QueryEscape(mapIDs[n])
		if b.Len()+1+len(id) > maxRequestURI {
			break
		}
		b.WriteString("," + id)
	}
	return b.String(), n
}

// fetch sends one request and yields the sections of the reply, or an error. It reports whether
// it yielded all sections and each yield returned true.
func (c *Client) fetch(ctx context.Context, address, uri string, partition int, mapIDs []string, yield func(*Section, error) bool) bool {
	failed := func(err error) bool {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		yield(nil, err)
		return false
	}
	body, err := c.request(ctx, address, uri)
	if err != nil {
		return failed(fmt.Errorf("fetch partition %d of %s from %s: %w", partition, mapIDs[0], address, err))
	}
	defer func() { _ = body.Close() }() // an error loses no data, because the body was only read
	reply := readers.Get().(*bufio.Reader)
	reply.Reset(body)
	defer func() {
		reply.Reset(nil)
		readers.Put(reply)
	}()
	for _, id := range mapIDs {
		h, err := readHeader(reply)
		switch {
		case err != nil && !errors.Is(err, ErrMalformed):
			err = fmt.Errorf("%w: %w", ErrUnreachable, err)
		case err == nil && (h.mapID != id || h.partition != int64(partition)):
			err = fmt.Errorf("%w: it has partition %d of %q", ErrMalformed, h.partition, h.mapID)
		}
		if err != nil {
			return failed(fmt.Errorf("fetch partition %d of %s from %s: %w", partition, id, address, err))
		}
		section := &Section{MapID: id, Size: h.length, reply: reply, left: h.length}
		if !yield(section, nil) {
			return false
		}
		if _, err := io.Copy(io.Discard, section); err != nil {
			return failed(err)
		}
	}
	return true
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// request sends a request and returns the body of the reply, after it has verified the reply's
// status and hash. It uses the algorithm that was accepted last, and tries the other algorithm
// if the status is 401. While the service has too many connections, the client sends the
// request again after each busyDelay, for at most c.timeout.
func (c *Client) request(ctx context.Context, address, uri string) (io.ReadCloser, error) {
	began := time.Now()
	first := c.algorithm.Load()
	for algorithm := first; ; {
		body, err := c.requestHashed(ctx, address, uri, algorithms[algorithm])
		var status *StatusError
		switch {
		case err == nil:
			c.algorithm.Store(algorithm)
			return body, nil
		case !errors.As(err, &status):
			return nil, err
		case status.Code == http.StatusTooManyRequests && time.Since(began) < c.timeout:
			select {
			case <-time.After(busyDelay):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case status.Code == http.StatusUnauthorized && algorithm == first:
			algorithm = (algorithm + 1) % int32(len(algorithms))
		default:
			return nil, err
		}
	}
}

func (c *Client) requestHashed(ctx context.Context, address, uri string, algorithm func() hash.Hash) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+uri, nil)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(request.URL.Port(), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", address, err)
	}
	hashed := hashOf(algorithm, c.password, strconv.FormatUint(port, 10)+uri)
	request.Header.Set("UrlHash", hashed)
	request.Header.Set("name", "mapreduce")
	request.Header.Set("version", "1.0.0")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if response.StatusCode != http.StatusOK {
		message, _ := io.ReadAll(io.LimitReader(response.Body, maxMessage)) // after a read error, report the status only
		_ = response.Body.Close()
		return nil, &StatusError{Code: response.StatusCode, Message: strings.TrimSpace(string(message))}
	}
	if got := response.Header.Get("ReplyHash"); !hmac.Equal([]byte(got), []byte(hashOf(algorithm, c.password, hashed))) {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%w: it does not prove that the service knows the application's password", ErrMalformed)
	}
	return response.Body, nil
}

// jobOf returns the name that requests use for an application, such as
// "job_1410901177871_0001".
func jobOf(application string) string { return "job" + strings.TrimPrefix(application, "application") }

// hashOf returns the HMAC of a text in base64, with a password as key.
func hashOf(algorithm func() hash.Hash, password []byte, text string) string {
	mac := hmac.New(algorithm, password)
	_, _ = io.WriteString(mac, text) // never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
