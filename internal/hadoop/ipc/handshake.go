package ipc

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/frame"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// sealOverhead is the number of bytes by which a frame may exceed MaxResponse if a SASL layer
// protects it.
const sealOverhead = 1 << 10

// errNoIdentity means that the client has neither a token, nor Kerberos, nor Options.Simple.
var errNoIdentity = errors.New("no token was given, no Kerberos ticket either, and authentication by name alone is not allowed (ipc.Options.Simple)")

// handshake is a connection that is being opened.
type handshake struct {
	options  Options
	token    security.Token
	clientID []byte
	address  string
	conn     net.Conn
	reader   io.Reader
	layer    sasl.Layer
}

// open connects to address and authenticates. It returns a *ConnectionError for a network
// error, a *RemoteError if the server refuses the client, and another error if the client and
// the server are incompatible.
func open(ctx context.Context, address string, clientID []byte, token security.Token, options Options) (*handshake, error) {
	if token.IsZero() && options.Kerberos == nil && !options.Simple {
		return nil, errNoIdentity
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("an address of a server is host:port: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, options.ConnectTimeout)
	defer cancel()
	conn, err := options.Dial(ctx, "tcp", address)
	if err != nil {
		return nil, &ConnectionError{Address: address, Err: err}
	}
	if err := boundUnacknowledged(conn); err != nil {
		_ = conn.Close()
		return nil, &ConnectionError{Address: address, Err: err}
	}
	h := &handshake{
		options:  options,
		token:    token,
		clientID: clientID,
		address:  address,
		conn:     conn,
		reader:   bufio.NewReader(conn),
	}
	// When ctx ends, interrupt reads and writes that are under way.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = h.run(ctx)
	if !stop() && err == nil {
		err = &ConnectionError{Address: address, Err: context.Cause(ctx)}
	}
	if err != nil {
		_ = conn.Close()
		return nil, h.explain(ctx, err)
	}
	return h, nil
}

// explain replaces the cause of a network error by a timeout error if ctx has timed out.
func (h *handshake) explain(ctx context.Context, err error) error {
	var lost *ConnectionError
	if errors.As(err, &lost) && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		lost.Err = fmt.Errorf("authentication did not end within %v", h.options.ConnectTimeout)
	}
	return err
}

func (h *handshake) run(ctx context.Context) error {
	auth := frame.AuthNone
	if !h.token.IsZero() || h.options.Kerberos != nil {
		auth = frame.AuthSASL
	}
	if err := h.write(frame.Opening(auth)); err != nil {
		return err
	}
	if auth == frame.AuthSASL {
		mechanism, err := h.authenticate(ctx)
		if err != nil {
			return err
		}
		if h.layer = mechanism.Layer(); h.layer != nil {
			limit := h.options.MaxResponse + sealOverhead
			h.reader = bufio.NewReader(frame.NewUnsealReader(frame.Server, h.reader, h.layer, limit))
		}
	}
	return h.sendContext()
}

// sendContext sends the connection context: the protocol and the user. With a token, it omits
// the user, because SASL has identified the user. With Kerberos, it names a user only if the
// authenticated user calls on behalf of another user.
func (h *handshake) sendContext() error {
	message := &pb.ConnectionContext{Protocol: &h.options.Protocol}
	switch user := h.options.User; {
	case !h.token.IsZero():
	case h.options.Kerberos != nil:
		if user.Real != "" {
			message.UserInfo = &pb.UserInformation{EffectiveUser: &user.Effective}
		}
	default:
		message.UserInfo = &pb.UserInformation{EffectiveUser: &user.Effective}
		if user.Real != "" {
			message.UserInfo.RealUser = &user.Real
		}
	}
	b, err := frame.Append(nil, frame.RequestHeader(frame.ContextCallID, h.clientID, frame.NoRetryCount), message)
	if err == nil && h.layer != nil {
		b, err = frame.Client.AppendSealed(nil, h.layer, b)
	}
	if err != nil {
		return err
	}
	return h.write(b)
}

// authenticate runs the SASL exchange: it negotiates a mechanism, initiates it, and
// answers challenges until both sides have succeeded.
func (h *handshake) authenticate(ctx context.Context) (sasl.Mechanism, error) {
	if err := h.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_NEGOTIATE.Enum()}); err != nil {
		return nil, err
	}
	var mechanism sasl.Mechanism
	for {
		message, err := h.readSASL()
		if err != nil {
			return nil, err
		}
		switch state := message.GetState(); {
		case state == pb.SaslMessage_NEGOTIATE && mechanism == nil:
			if mechanism, err = h.initiate(ctx, message.GetAuths()); err != nil {
				return nil, err
			}
		case state == pb.SaslMessage_CHALLENGE && mechanism != nil:
			answer, err := mechanism.Step(message.GetToken())
			if err != nil {
				return nil, err
			}
			if err := h.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_RESPONSE.Enum(), Token: nonNil(answer)}); err != nil {
				return nil, err
			}
		case state == pb.SaslMessage_SUCCESS && mechanism != nil:
			return mechanism, finish(mechanism, message)
		case state == pb.SaslMessage_SUCCESS:
			return nil, h.insecure()
		default:
			return nil, fmt.Errorf("the server sent SASL message %v out of order", state)
		}
	}
}

// insecure returns the error for a server that does not authenticate its clients.
func (h *handshake) insecure() error {
	neglects := "check tokens"
	if h.token.IsZero() {
		neglects = "ask for Kerberos"
	}
	return fmt.Errorf("the server does not %s (its security is off), so it cannot be told from an impostor: refused", neglects)
}

// finish processes the server's success message. It fails if the server has not proved its
// identity to the client.
func finish(mechanism sasl.Mechanism, message *pb.SaslMessage) error {
	if message.Token != nil {
		answer, err := mechanism.Step(message.GetToken())
		if err != nil {
			return err
		}
		if answer != nil {
			return errors.New("the server ended authentication before its time")
		}
	}
	if !mechanism.Complete() {
		return errors.New("the server ended authentication without proving that it knows the token")
	}
	return nil
}

// initiate chooses the first of the server's mechanisms that works with the token or,
// without a token, with Kerberos. It sends the client's first message and returns the
// mechanism.
func (h *handshake) initiate(ctx context.Context, auths []*pb.SaslMessage_SaslAuth) (sasl.Mechanism, error) {
	var offered []string
	for _, auth := range auths {
		offered = append(offered, auth.GetMethod())
		var mechanism sasl.Mechanism
		var first []byte
		var err error
		switch {
		case !h.token.IsZero() && auth.GetMethod() == "TOKEN" && auth.GetMechanism() == "DIGEST-MD5":
			mechanism, first, err = h.digest(auth)
		case h.token.IsZero() && auth.GetMethod() == "KERBEROS" && auth.GetMechanism() == "GSSAPI":
			mechanism, first, err = h.gssapi(ctx, auth)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		return mechanism, h.sendSASL(&pb.SaslMessage{
			State: pb.SaslMessage_INITIATE.Enum(),
			Token: nonNil(first),
			Auths: []*pb.SaslMessage_SaslAuth{{
				Method: auth.Method, Mechanism: auth.Mechanism, Protocol: auth.Protocol, ServerId: auth.ServerId,
			}},
		})
	}
	if slices.Contains(offered, "SIMPLE") {
		return nil, h.insecure()
	}
	own := "a token"
	if h.token.IsZero() {
		own = "Kerberos"
	}
	return nil, fmt.Errorf("the server authenticates by %s, and this client by %s alone", strings.Join(offered, ", "), own)
}

// digest returns the client's side of DIGEST-MD5 and the client's first message.
func (h *handshake) digest(auth *pb.SaslMessage_SaslAuth) (mechanism sasl.Mechanism, first []byte, err error) {
	mechanism = sasl.NewDigestClient(sasl.DigestClient{
		Username: base64.StdEncoding.EncodeToString(h.token.Identifier),
		Password: base64.StdEncoding.EncodeToString(h.token.Password),
		Protocol: auth.GetProtocol(),
		ServerID: auth.GetServerId(),
		QOPs:     h.options.QOPs,
	})
	// A server with only one mechanism includes the challenge in its offer, which saves a
	// round trip.
	if auth.Challenge != nil {
		first, err = mechanism.Step(auth.GetChallenge())
	}
	return mechanism, first, err
}

// gssapi returns the client's side of GSSAPI and the client's first message.
func (h *handshake) gssapi(ctx context.Context, auth *pb.SaslMessage_SaslAuth) (sasl.Mechanism, []byte, error) {
	context, first, err := h.options.Kerberos.Connect(ctx, h.address, auth.GetProtocol(), auth.GetServerId())
	if err != nil {
		return nil, nil, err
	}
	return sasl.NewGSSAPIClient(context, h.options.QOPs), first, nil
}

func (h *handshake) sendSASL(message *pb.SaslMessage) error {
	b, err := frame.Client.AppendSASL(nil, message)
	if err != nil {
		return err
	}
	return h.write(b)
}

func (h *handshake) readSASL() (*pb.SaslMessage, error) {
	body, err := frame.Read(h.reader, h.options.MaxResponse)
	if err != nil {
		if errors.Is(err, frame.ErrTooLong) {
			return nil, err
		}
		return nil, h.lost(fmt.Errorf("connection lost while authenticating: %w", err))
	}
	header := &pb.ResponseHeader{}
	rest, err := frame.Next(body, header)
	if err != nil {
		return nil, err
	}
	if remote := remoteError(header); remote != nil {
		return nil, remote
	}
	if id := frame.ResponseCallID(header); id != frame.SASLCallID {
		return nil, fmt.Errorf("the server answered call %d while authenticating", id)
	}
	message := &pb.SaslMessage{}
	_, err = frame.Next(rest, message)
	return message, err
}

func (h *handshake) write(b []byte) error {
	if _, err := h.conn.Write(b); err != nil {
		return h.lost(fmt.Errorf("connection lost while authenticating: %w", err))
	}
	return nil
}

func (h *handshake) lost(err error) error { return &ConnectionError{Address: h.address, Err: err} }

// nonNil returns b, or an empty slice if b is nil, because protobuf omits a field that is nil.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
