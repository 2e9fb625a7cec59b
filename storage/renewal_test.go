package storage

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode"
	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

func TestRenewalAtThreeQuartersOfTheLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var asked, published []time.Duration
		failures := 0
		renewal := &Renewal{Logger: slog.New(slog.DiscardHandler)}
		renewal.obtain = func(context.Context) (*Tokens, error) {
			asked = append(asked, time.Since(began))
			if failures > 0 {
				failures--
				return nil, errors.New("no KDC answers")
			}
			return &Tokens{Credentials: tokensOf("x"), Renew: time.Now().Add(75 * time.Second), End: time.Now().Add(100 * time.Second)}, nil
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			renewal.Run(ctx, nil, func(*security.Credentials) {
				published = append(published, time.Since(began))
				if len(published) == 2 {
					failures = 3
				}
			})
		}()
		time.Sleep(240 * time.Second)
		cancel()
		<-done
		const s = time.Second
		require.Equal(t, []time.Duration{0, 75 * s, 150 * s, 151 * s, 153 * s, 157 * s, 232 * s}, asked)
		require.Equal(t, []time.Duration{0, 75 * s, 157 * s, 232 * s}, published)

		// There are current tokens, and the NameNodes issue no more.
		current := &Tokens{Renew: time.Now().Add(s)}
		began, asked = time.Now(), nil
		renewal.obtain = func(context.Context) (*Tokens, error) {
			asked = append(asked, time.Since(began))
			return nil, nil
		}
		renewal.Run(t.Context(), current, func(*security.Credentials) { t.Error("there are no tokens") })
		require.Equal(t, []time.Duration{s}, asked)
	})
}

// tokenIssuer is a NameNode that issues, renews and cancels delegation tokens.
type tokenIssuer struct {
	life  time.Duration // of a token after its renewal
	hangs bool          // calls are not answered

	mu        sync.Mutex
	issued    byte     // number of issued tokens, which is a token's password
	cancelled []byte   // passwords of cancelled tokens
	failures  []string // methods whose next calls fail
}

func (i *tokenIssuer) Call(ctx context.Context, method string, request, response proto.Message, _ ...ipc.CallOption) error {
	if i.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.failures) > 0 && i.failures[0] == method {
		i.failures = i.failures[1:]
		return errors.New("no answer")
	}
	switch method {
	case "getDelegationToken":
		i.issued++
		// Owner, renewer and real user are empty, and the times are milliseconds after 1970.
		token := security.Token{Kind: security.KindHDFS, Identifier: []byte("\x00\x00\x00\x00\x00\x02"), Password: []byte{i.issued}}
		response.(*pb.GetDelegationTokenResponse).Token = token.Proto()
	case "renewDelegationToken":
		response.(*pb.RenewDelegationTokenResponse).NewExpiryTime = proto.Uint64(uint64(i.life.Milliseconds()))
	case "cancelDelegationToken":
		password := request.(*pb.CancelDelegationTokenRequest).Token.Password[0]
		if i.cancelled = append(i.cancelled, password); password == 1 {
			return &ipc.CallError{Err: ipc.NewRemoteError(string(ipc.InvalidToken), "the token does not exist")}
		}
	}
	return nil
}

func (i *tokenIssuer) Close() error { return nil }

// renewalOf returns a Renewal for the file system hdfs://ha, whose NameNode is i.
func (i *tokenIssuer) renewalOf(logger *slog.Logger) *Renewal {
	files := New(Options{Hadoop: kerberosConfig(nil), User: "ann"})
	files.systems["hdfs://ha"] = &hdfsSystem{root: "hdfs://ha", namenode: namenode.NewClient(i)}
	return &Renewal{Files: files, FileSystems: []string{"hdfs://ha"}, Logger: logger}
}

func TestCancelInvalidatesTokensThatHaveNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issuer := &tokenIssuer{life: time.Hour}
		var log warnings
		renewal := issuer.renewalOf(slog.New(&log))
		obtain := func() {
			_, err := renewal.Obtain(t.Context())
			require.NoError(t, err)
		}
		obtain()
		time.Sleep(50 * time.Minute)
		obtain()
		issuer.failures = []string{"renewDelegationToken"}
		_, err := renewal.Obtain(t.Context())
		require.ErrorContains(t, err, "no answer")
		require.Equal(t, []byte{3}, issuer.cancelled, "the token that could not be renewed")
		issuer.cancelled = nil
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		renewal.Cancel(ended)
		require.ElementsMatch(t, []byte{1, 2}, issuer.cancelled)
		require.Empty(t, log)

		issuer.cancelled = nil
		time.Sleep(20 * time.Minute)
		obtain()
		renewal.Cancel(t.Context())
		require.ElementsMatch(t, []byte{2, 4}, issuer.cancelled, "the first token has ended")

		issuer.hangs = true
		began := time.Now()
		renewal.Cancel(t.Context())
		require.Equal(t, cancelTimeout, time.Since(began))
		require.Equal(t, warnings{"delegation tokens are not cancelled, and stay valid until they end"}, log)
	})
}

// warnings is a log handler that keeps the messages of warnings.
type warnings []string

func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (w *warnings) WithAttrs([]slog.Attr) slog.Handler               { return w }
func (w *warnings) WithGroup(string) slog.Handler                    { return w }
func (w *warnings) Handle(_ context.Context, record slog.Record) error {
	*w = append(*w, record.Message)
	return nil
}
