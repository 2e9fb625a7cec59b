package ipctest

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/frame"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/pb"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
)

// maxRequest is the largest size in bytes of a request (ipc.maximum.data.length).
const maxRequest = 128 << 20

// badResponse is the class of the exception for a client that does not prove that it has the
// token's password.
const badResponse = "javax.security.sasl.SaslException"

// accessControl is the class of the exception for a client that the server does not
// accept.
const accessControl = "org.apache.hadoop.security.AccessControlException"

// connection is the server's side of one client's connection.
type connection struct {
	server *Server
	conn   net.Conn
	reader io.Reader
	layer  sasl.Layer
	// mechanism is the server's side of the SASL exchange; nil before it begins.
	mechanism  sasl.Mechanism
	identifier []byte
	user       string

	writing sync.Mutex
	calls   sync.WaitGroup
}

// serve handles requests until the connection ends. It returns when all handlers of
// calls have returned.
func (c *connection) serve() {
	defer c.calls.Wait()
	c.reader = bufio.NewReader(c.conn)
	opening := make([]byte, frame.OpeningSize)
	if _, err := io.ReadFull(c.reader, opening); err != nil {
		return
	}
	auth, err := frame.ParseOpening(opening)
	if err != nil {
		c.refuse(-1, &Exception{Class: "org.apache.hadoop.ipc.RPC$VersionMismatch", Text: err.Error()})
		return
	}
	if auth == frame.AuthNone && c.server.options.Password != nil {
		c.refuse(-1, &Exception{Class: accessControl, Text: "SIMPLE authentication is not enabled.  Available:[TOKEN]"})
		return
	}
	for {
		body, err := frame.Read(c.reader, maxRequest)
		if err != nil {
			return
		}
		header := &pb.RequestHeader{}
		rest, err := frame.Next(body, header)
		if err == nil {
			err = c.receive(header, rest)
		}
		if err != nil {
			c.refuse(header.GetCallId(), err)
			return
		}
	}
}

// receive processes one message. If receive fails, serve ends the connection.
func (c *connection) receive(header *pb.RequestHeader, rest []byte) error {
	established := c.server.options.Password == nil || c.mechanism != nil && c.mechanism.Complete()
	switch id := header.GetCallId(); {
	case id == frame.SASLCallID:
		message := &pb.SaslMessage{}
		if _, err := frame.Next(rest, message); err != nil {
			return err
		}
		return c.authenticate(message)
	case !established:
		return &Exception{Class: accessControl, Text: "Connection header sent during SASL negotiation"}
	case id == frame.ContextCallID:
		message := &pb.ConnectionContext{}
		if _, err := frame.Next(rest, message); err != nil {
			return err
		}
		c.user = message.GetUserInfo().GetEffectiveUser()
		if c.identifier != nil && c.user != "" {
			return &Exception{Class: accessControl, Text: "Authenticated user doesn't match what the client claims to be"}
		}
		return nil
	case id == frame.PingCallID:
		select {
		case c.server.pings <- struct{}{}:
		default:
		}
		return nil
	case id < 0:
		return fmt.Errorf("unknown out of band call #%d", id)
	default:
		return c.call(header, rest)
	}
}

// authenticate handles one message of the SASL exchange as Hadoop's server does.
func (c *connection) authenticate(message *pb.SaslMessage) error {
	if c.server.options.Password == nil {
		return c.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_SUCCESS.Enum()})
	}
	switch message.GetState() {
	case pb.SaslMessage_NEGOTIATE:
		auth := &pb.SaslMessage_SaslAuth{
			Method:    proto.String("TOKEN"),
			Mechanism: proto.String("DIGEST-MD5"),
			Protocol:  proto.String(""),
			ServerId:  proto.String("default"),
		}
		if !c.server.options.LateChallenge {
			var err error
			if auth.Challenge, err = c.newMechanism().Step(nil); err != nil {
				return err
			}
		}
		return c.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_NEGOTIATE.Enum(), Auths: []*pb.SaslMessage_SaslAuth{auth}})
	case pb.SaslMessage_INITIATE:
		if c.mechanism == nil {
			challenge, err := c.newMechanism().Step(nil)
			if err != nil {
				return err
			}
			return c.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_CHALLENGE.Enum(), Token: challenge})
		}
		return c.verify(message.GetToken())
	case pb.SaslMessage_RESPONSE:
		if c.mechanism == nil {
			return errors.New("a response came without a challenge")
		}
		return c.verify(message.GetToken())
	default:
		return fmt.Errorf("SASL message %v came out of order", message.GetState())
	}
}

func (c *connection) newMechanism() sasl.Mechanism {
	c.mechanism = sasl.NewDigestServer(sasl.DigestServer{
		ServerID: "default",
		QOPs:     c.server.options.QOPs,
		Ciphers:  c.server.options.Ciphers,
		Password: func(username string) (string, error) {
			identifier, err := base64.StdEncoding.DecodeString(username)
			if err != nil {
				return "", err
			}
			c.identifier = identifier
			password, err := c.server.options.Password(identifier)
			return base64.StdEncoding.EncodeToString(password), err
		},
	})
	return c.mechanism
}

// verify checks the client's SASL response. If it is valid, the security layer, if
// any, protects all later messages.
func (c *connection) verify(response []byte) error {
	rspauth, err := c.mechanism.Step(response)
	if err != nil {
		var exception *Exception
		if !errors.As(err, &exception) {
			exception = &Exception{Class: badResponse, Text: err.Error()}
		}
		return exception
	}
	if err := c.sendSASL(&pb.SaslMessage{State: pb.SaslMessage_SUCCESS.Enum(), Token: rspauth}); err != nil {
		return err
	}
	if c.layer = c.mechanism.Layer(); c.layer != nil {
		c.reader = bufio.NewReader(frame.NewUnsealReader(frame.Client, c.reader, c.layer, maxRequest))
	}
	return nil
}

func (c *connection) sendSASL(message *pb.SaslMessage) error {
	b, err := frame.Server.AppendSASL(nil, message)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.conn.Write(b)
	return err
}

// call starts a goroutine that runs the handler of a call.
func (c *connection) call(header *pb.RequestHeader, rest []byte) error {
	name := &pb.CallHeader{}
	rest, err := frame.Next(rest, name)
	if err != nil {
		return err
	}
	raw, n := protowire.ConsumeBytes(rest)
	if n < 0 {
		return errors.New("the request ends inside its message")
	}
	call := Call{
		ID:         header.GetCallId(),
		RetryCount: header.GetRetryCount(),
		ClientID:   header.GetClientId(),
		User:       c.user,
		Identifier: c.identifier,
		connection: c,
	}
	handle, ok := c.server.find(name.GetProtocolName(), name.GetMethodName())
	if !ok {
		c.fail(call.ID, &Exception{
			Class: "org.apache.hadoop.ipc.RpcNoSuchMethodException",
			Text:  "Unknown method " + name.GetMethodName() + " called on " + name.GetProtocolName() + " protocol.",
		}, pb.ResponseHeader_ERROR_NO_SUCH_METHOD)
		return nil
	}
	fault := Fault{}
	if c.server.options.Fault != nil {
		fault = c.server.options.Fault(name.GetProtocolName(), name.GetMethodName(), call)
	}
	c.calls.Go(func() { c.answer(call, handle, raw, fault) })
	return nil
}

// answer runs a call's handler and sends the response, with the given fault.
func (c *connection) answer(call Call, handle handler, raw []byte, fault Fault) {
	if !c.pause(fault.Before) {
		return
	}
	if fault.Refuse {
		call.Drop()
		return
	}
	var response proto.Message
	var err error
	if fault.Exception != nil {
		err = fault.Exception
	} else {
		response, err = handle(c.server.ctx, call, raw)
	}
	if fault.Break {
		call.Drop()
		return
	}
	if fault.Lose || !c.pause(fault.After) {
		return
	}
	times := 1
	if fault.Duplicate {
		times = 2
	}
	for range times {
		if err != nil {
			c.fail(call.ID, err, pb.ResponseHeader_ERROR_APPLICATION)
			continue
		}
		c.send(&pb.ResponseHeader{
			CallId: proto.Uint32(uint32(call.ID)),
			Status: pb.ResponseHeader_SUCCESS.Enum(),
		}, response)
	}
}

// pause waits for d and returns true. If the server is closed before d has passed, pause
// returns false at once.
func (c *connection) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.server.ctx.Done():
		return false
	}
}

// fail responds to a call with an exception, and closes the connection if the exception is
// fatal.
func (c *connection) fail(id int32, err error, code pb.ResponseHeader_ErrorCode) {
	var exception *Exception
	if !errors.As(err, &exception) {
		exception = &Exception{Class: "java.io.IOException", Text: err.Error()}
	}
	status := pb.ResponseHeader_ERROR
	if exception.Fatal {
		status = pb.ResponseHeader_FATAL
	}
	c.send(&pb.ResponseHeader{
		CallId:         proto.Uint32(uint32(id)),
		Status:         status.Enum(),
		ExceptionClass: &exception.Class,
		ErrorMessage:   &exception.Text,
		ErrorCode:      code.Enum(),
	})
	if exception.Fatal {
		_ = c.conn.Close()
	}
}

// refuse responds to a message with a fatal exception, and closes the connection.
func (c *connection) refuse(id int32, err error) {
	exception := &Exception{Class: "java.io.IOException", Text: err.Error()}
	errors.As(err, &exception)
	c.fail(id, &Exception{Class: exception.Class, Text: exception.Text, Fatal: true}, pb.ResponseHeader_FATAL_UNAUTHORIZED)
}

// send writes a response. Under a security layer it protects the response as one piece,
// however long it is, as Java's server does. It ignores errors of the connection, because
// the client may have disconnected.
func (c *connection) send(header *pb.ResponseHeader, messages ...proto.Message) {
	header.ServerIpcVersion = proto.Uint32(frame.Version)
	b, err := frame.Append(nil, append([]proto.Message{header}, messages...)...)
	if err != nil {
		_ = c.conn.Close()
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.layer != nil {
		token, err := c.layer.Wrap(b)
		if err == nil {
			b, err = frame.Server.AppendSASL(nil, &pb.SaslMessage{State: pb.SaslMessage_WRAP.Enum(), Token: token})
		}
		if err != nil {
			_ = c.conn.Close()
			return
		}
	}
	_, _ = c.conn.Write(b)
}
