package yarntest

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// keys are the ids of the master keys for one kind of token. The identifier of a token contains
// the id of a key, and its password is the MAC of the identifier with this key. Tokens of the
// current, the next and the previous key are valid.
type keys struct {
	current int32
	// next is the key of a pending roll-over, or 0. previous is the key before the current one,
	// or 0 if it is no longer valid.
	next, previous int32
	seed           uint64
	kind           string
}

func (k *keys) password(id int32, identifier []byte) []byte {
	secret := binary.BigEndian.AppendUint64([]byte(k.kind), k.seed)
	mac := hmac.New(sha1.New, binary.BigEndian.AppendUint32(secret, uint32(id)))
	mac.Write(identifier)
	return mac.Sum(nil)
}

func (k *keys) valid(id int32) bool {
	return id == k.current || id != 0 && (id == k.next || id == k.previous)
}

func invalidToken(format string, args ...any) error {
	return &ipctest.Exception{Class: string(ipc.InvalidToken), Text: fmt.Sprintf(format, args...)}
}

// identifier encodes message, the identifier of a token.
func identifier(message proto.Message) []byte {
	// Marshal cannot fail, because these messages have no required fields.
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return b
}

func (c *Cluster) amrmToken(a *attempt, key int32) security.Token {
	id := identifier(&pb.AMRMTokenIdentifier{AttemptId: attemptIDProto(a.id), KeyId: proto.Int32(key)})
	return security.Token{Identifier: id, Password: c.amrmKeys.password(key, id), Kind: security.KindAMRM}
}

// amrmPassword returns the password of the AMRMToken with the given identifier. It fails if the
// token is not valid.
func (c *Cluster) amrmPassword(id []byte) ([]byte, error) {
	message := &pb.AMRMTokenIdentifier{}
	if err := proto.Unmarshal(id, message); err != nil {
		return nil, invalidToken("malformed identifier: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := attemptIDOf(message.GetAttemptId())
	if a := c.attempt(name); a == nil || a.ended {
		return nil, invalidToken("%v not found in AMRMTokenSecretManager.", name)
	}
	if !c.amrmKeys.valid(message.GetKeyId()) {
		return nil, invalidToken("Invalid AMRMToken from %v", name)
	}
	return c.amrmKeys.password(message.GetKeyId(), id), nil
}

func (c *Cluster) nmToken(a *attempt, n *Node) security.Token {
	id := identifier(&pb.NMTokenIdentifier{
		AttemptId: attemptIDProto(a.id), NodeId: nodeIDProto(n.id), Submitter: proto.String(a.app.User), KeyId: proto.Int32(c.nmKeys.current),
	})
	return security.Token{Identifier: id, Password: c.nmKeys.password(c.nmKeys.current, id), Kind: security.KindNM, Service: n.id.String()}
}

// nmPassword returns the password of the NMToken with the given identifier. It fails if the
// token is not valid on the node.
func (n *Node) nmPassword(id []byte) ([]byte, error) {
	c := n.cluster
	message := &pb.NMTokenIdentifier{}
	if err := proto.Unmarshal(id, message); err != nil {
		return nil, invalidToken("malformed identifier: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := attemptIDOf(message.GetAttemptId())
	if message.GetNodeId().GetHost() != n.id.Host || message.GetNodeId().GetPort() != n.id.Port || !c.nmKeys.valid(message.GetKeyId()) {
		return nil, invalidToken("Given NMToken for application : %v is not valid for current node manager.expected : %v found : %s:%d",
			name, n.id, message.GetNodeId().GetHost(), message.GetNodeId().GetPort())
	}
	return c.nmKeys.password(message.GetKeyId(), id), nil
}

func (c *Cluster) containerToken(k *container, expires time.Time) security.Token {
	message := &pb.ContainerTokenIdentifier{
		ContainerId:         containerIDProto(k.id),
		NodeAddress:         proto.String(k.node.id.String()),
		Submitter:           proto.String(k.attempt.app.User),
		Resource:            resourceProto(k.resource),
		ExpiryTime:          proto.Int64(expires.UnixMilli()),
		MasterKeyId:         proto.Int32(c.containerKeys.current),
		RmIdentifier:        proto.Int64(c.identifier),
		Priority:            &pb.Priority{Priority: proto.Int32(k.priority)},
		CreationTime:        proto.Int64(time.Now().UnixMilli()),
		ContainerType:       pb.ContainerType_CONTAINER_TYPE_TASK.Enum(),
		ExecutionType:       executionTypeProto(k.executionType),
		AllocationRequestId: proto.Int64(k.allocationRequestID),
	}
	if k.label != "" {
		message.NodeLabelExpression = proto.String(k.label)
	}
	id := identifier(message)
	return security.Token{
		Identifier: id, Password: c.containerKeys.password(c.containerKeys.current, id),
		Kind: security.KindContainer, Service: k.node.id.String(),
	}
}

// verifyContainerToken decodes a container token. It fails if a NodeManager would reject the
// token.
func (n *Node) verifyContainerToken(token security.Token) (*pb.ContainerTokenIdentifier, error) {
	c := n.cluster
	message := &pb.ContainerTokenIdentifier{}
	if err := proto.Unmarshal(token.Identifier, message); err != nil {
		return nil, invalidToken("malformed identifier: %v", err)
	}
	password := c.containerKeys.password(message.GetMasterKeyId(), token.Identifier)
	if !c.containerKeys.valid(message.GetMasterKeyId()) || subtle.ConstantTimeCompare(password, token.Password) != 1 {
		return nil, invalidToken("Invalid container token used for starting container on : %v", n.id)
	}
	if message.GetNodeAddress() != n.id.String() {
		return nil, invalidToken("Given Container %v identifier is not valid for current Node manager. Expected : %v Found : %s",
			containerIDOf(message.GetContainerId()), n.id, message.GetNodeAddress())
	}
	return message, nil
}

// RollMasterKey replaces the master key of AMRMTokens. The old key expires when the duration
// overlap has passed; until then, responses to allocate contain a token with the new key.
// Existing connections are not closed.
func (c *Cluster) RollMasterKey(overlap time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.amrmKeys.next != 0 {
		return
	}
	c.amrmKeys.next = c.amrmKeys.current + 1
	c.after(overlap, func() { c.amrmKeys.current, c.amrmKeys.next = c.amrmKeys.next, 0 })
}

// RollNodeKey replaces the master key of NMTokens. An attempt receives a node's new NMToken
// with its next container on that node. Old tokens are valid until the duration overlap
// has passed.
func (c *Cluster) RollNodeKey(overlap time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.nmKeys.current
	c.nmKeys.previous, c.nmKeys.current = old, old+1
	for _, app := range c.applications {
		clear(app.current().tokensFor)
	}
	c.after(overlap, func() {
		if c.nmKeys.previous == old {
			c.nmKeys.previous = 0
		}
	})
}
