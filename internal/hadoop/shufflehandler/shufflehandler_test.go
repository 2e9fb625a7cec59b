package shufflehandler

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const application = "application_1410901177871_0001"

func sum(algorithm func() hash.Hash, password, text string) string {
	mac := hmac.New(algorithm, []byte(password))
	_, _ = io.WriteString(mac, text)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// appendVLong appends n in the encoding of Hadoop's WritableUtils.writeVLong.
func appendVLong(b []byte, n int64) []byte {
	if n >= -112 && n <= 127 {
		return append(b, byte(n))
	}
	first, value := -112, uint64(n)
	if n < 0 {
		first, value = -120, ^uint64(n)
	}
	bytes := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, value), "\x00")
	return append(append(b, byte(first-len(bytes))), bytes...)
}

func appendHeader(b []byte, id string, length int64, partition int) []byte {
	b = append(appendVLong(b, int64(len(id))), id...)
	return appendVLong(appendVLong(appendVLong(b, length), length), int64(partition))
}

// service is a server that speaks the protocol of Hadoop's shuffle service.
type service struct {
	*httptest.Server
	password  string
	algorithm func() hash.Hash
	port      string
	requests  []string
	reply     func(w http.ResponseWriter, ids []string) // if nil, each output's content is sent
}

func newService(t *testing.T) *service {
	s := &service{password: "secret", algorithm: sha1.New}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	_, s.port, _ = net.SplitHostPort(s.address())
	return s
}

func (s *service) address() string { return s.Listener.Addr().String() }

func (s *service) client(password string) *Client {
	return NewClient(Options{Application: application, Password: []byte(password), Timeout: 300 * time.Millisecond})
}

func content(id string) string { return strings.Repeat(id, 1000) }

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.RequestURI)
	if r.Header.Get("name") != "mapreduce" || r.Header.Get("version") != "1.0.0" || r.URL.Path != "/mapOutput" || r.URL.Query().Get("job") != "job_1410901177871_0001" {
		http.Error(w, "what is this", http.StatusBadRequest)
		return
	}
	hashed := r.Header.Get("UrlHash")
	if hashed != sum(s.algorithm, s.password, s.port+r.RequestURI) {
		http.Error(w, "Verification of the hashReply failed", http.StatusUnauthorized)
		return
	}
	w.Header().Set("ReplyHash", sum(s.algorithm, s.password, hashed))
	ids := strings.Split(r.URL.Query().Get("map"), ",")
	if s.reply != nil {
		s.reply(w, ids)
		return
	}
	for _, id := range ids {
		_, _ = w.Write(appendHeader(nil, id, int64(len(content(id))), 7))
		_, _ = io.WriteString(w, content(id))
	}
}

func fetchAll(ctx context.Context, c *Client, address string, ids ...string) (got []string, err error) {
	for section, err := range c.Fetch(ctx, address, 7, ids) {
		if err != nil {
			return got, err
		}
		read, err := io.ReadAll(section)
		if err != nil {
			return got, err
		}
		got = append(got, string(read))
	}
	return got, nil
}

func TestFetch(t *testing.T) {
	s := newService(t)
	var ids, want []string
	for i := range 200 {
		ids = append(ids, fmt.Sprintf("%s_of_application_%d", strings.Repeat("x", 40), i))
		want = append(want, content(ids[i]))
	}
	got, err := fetchAll(t.Context(), s.client("secret"), s.address(), ids...)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Greater(t, len(s.requests), 2)
	for _, uri := range s.requests {
		require.LessOrEqual(t, len("GET "+uri+" HTTP/1.1"), 4096)
	}

	t.Run("sections are skipped", func(t *testing.T) {
		var sizes []int64
		for section, err := range s.client("secret").Fetch(t.Context(), s.address(), 7, ids[:3]) {
			require.NoError(t, err)
			sizes = append(sizes, section.Size)
		}
		require.Len(t, sizes, 3)
	})
	t.Run("the consumer ends", func(t *testing.T) {
		for range s.client("secret").Fetch(t.Context(), s.address(), 7, ids) {
			break
		}
	})
}

func TestTheHashCanBeAnother(t *testing.T) {
	s := newService(t)
	s.algorithm = sha256.New
	c := s.client("secret")
	for range 2 {
		_, err := fetchAll(t.Context(), c, s.address(), "a")
		require.NoError(t, err)
	}
	require.Len(t, s.requests, 3, "the client does not remember the algorithm")
}

func TestFetchWaitsForABusyService(t *testing.T) {
	s := newService(t)
	busy := true
	s.reply = func(w http.ResponseWriter, ids []string) {
		if busy {
			busy = false
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = w.Write(appendHeader(nil, ids[0], 1, 7))
		_, _ = io.WriteString(w, "x")
	}
	got, err := fetchAll(t.Context(), s.client("secret"), s.address(), "a")
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, got)
}

func TestFetchFails(t *testing.T) {
	s := newService(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()

	write := func(text string) func(w http.ResponseWriter, ids []string) {
		return func(w http.ResponseWriter, _ []string) { _, _ = io.WriteString(w, text) }
	}
	for _, test := range []struct {
		name, address, password string
		reply                   func(w http.ResponseWriter, ids []string)
		is                      error
		status                  int
	}{
		{name: "nobody listens", address: closed.Addr().String(), is: ErrUnreachable},
		{name: "nobody answers", address: silent.Addr().String(), is: ErrUnreachable},
		{name: "another password", password: "guess", status: http.StatusUnauthorized},
		{name: "no file", reply: func(w http.ResponseWriter, _ []string) { http.Error(w, "no file", http.StatusInternalServerError) }, status: 500},
		{name: "a redirect", reply: func(w http.ResponseWriter, _ []string) {
			w.Header().Set("Location", "http://elsewhere.invalid/")
			w.WriteHeader(http.StatusFound)
		}, status: 302},
		{name: "a server that does not know the password", reply: func(w http.ResponseWriter, _ []string) { w.Header().Del("ReplyHash") }, is: ErrMalformed},
		{name: "nothing", reply: write(""), is: ErrUnreachable},
		{name: "half a header", reply: write("\x02a"), is: ErrUnreachable},
		{name: "half a section", reply: write(string(appendHeader(nil, "a", 10, 7)) + "12345"), is: ErrUnreachable},
		{name: "another output", reply: write(string(appendHeader(nil, "b", 1, 7)) + "1"), is: ErrMalformed},
		{name: "another partition", reply: write(string(appendHeader(nil, "a", 1, 8)) + "1"), is: ErrMalformed},
		{name: "a long id", reply: write(string(appendVLong(nil, 1001))), is: ErrMalformed},
		{name: "a negative length", reply: write(string(appendHeader(nil, "a", -1, 7))), is: ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.reply = test.reply
			address, password := s.address(), "secret"
			if test.address != "" {
				address = test.address
			}
			if test.password != "" {
				password = test.password
			}
			_, err := fetchAll(t.Context(), s.client(password), address, "a")
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
				return
			}
			var status *StatusError
			require.ErrorAs(t, err, &status)
			require.Equal(t, test.status, status.Code)
		})
	}
	t.Run("the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("enough")) })
		_, err := fetchAll(ctx, s.client("secret"), silent.Addr().String(), "a")
		require.ErrorContains(t, err, "enough")
	})
}

func TestVLongs(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 127, 128, -112, -113, 255, 256, -256, -257, 1 << 40, -1 << 40, math.MaxInt64, math.MinInt64} {
		got, err := readVLong(bytes.NewReader(appendVLong(nil, n)))
		require.NoError(t, err)
		require.Equal(t, n, got)
	}
	_, err := readVLong(bytes.NewReader([]byte{0x8e, 1}))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = readVLong(bytes.NewReader([]byte{0x88, 0xff, 0, 0, 0, 0, 0, 0, 0}))
	require.ErrorIs(t, err, ErrMalformed)
}

func TestIndex(t *testing.T) {
	for _, offsets := range [][]int64{{0, 0}, {0, 10}, {0, 10, 10, 1 << 40}} {
		content := AppendIndex([]byte("before"), offsets)[len("before"):]
		got, err := ParseIndex(content)
		require.NoError(t, err)
		require.Equal(t, offsets, got)
		content[3] ^= 1
		_, err = ParseIndex(content)
		require.ErrorIs(t, err, ErrDamagedIndex)
		_, err = ParseIndex(content[1:])
		require.ErrorIs(t, err, ErrDamagedIndex)
	}
	for _, offsets := range [][]int64{{1, 2}, {0, -1}, {0, 5, 4}, {}} {
		_, err := ParseIndex(AppendIndex(nil, append(offsets, offsets...)))
		require.ErrorIs(t, err, ErrDamagedIndex, "%v", offsets)
	}
}

func TestParsePort(t *testing.T) {
	port, err := ParsePort("AAA0+g==")
	require.NoError(t, err)
	require.Equal(t, 13562, port)
	for _, bad := range []string{"", "AAA0", "AAAAAA==", "AAEAAA==", "%"} {
		_, err := ParsePort(bad)
		require.ErrorContains(t, err, EnvPort, bad)
	}
}

func TestServiceData(t *testing.T) {
	require.Equal(t, []byte("\x00\x03abc\x00\x00"), ServiceData([]byte("abc")))
}

func FuzzReadHeader(f *testing.F) {
	f.Add(appendHeader(nil, "a", 10, 7))
	f.Add(appendHeader(nil, strings.Repeat("x", 300), 1<<40, 300))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		h, err := readHeader(bufio.NewReader(r))
		if err != nil {
			return
		}
		if h.length < 0 || len(h.mapID) > maxMapID {
			t.Fatalf("header %+v", h)
		}
	})
}

func FuzzParseIndex(f *testing.F) {
	f.Add(AppendIndex(nil, []int64{0, 10, 10, 300}))
	f.Fuzz(func(t *testing.T, data []byte) {
		offsets, err := ParseIndex(data)
		if err != nil {
			return
		}
		for i, offset := range offsets[1:] {
			if offset < offsets[i] {
				t.Fatalf("offsets %v", offsets)
			}
		}
	})
}
