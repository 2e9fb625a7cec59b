package driver

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// filled returns a message in which every field is set, to a value that depends on n if
// possible. Repeated fields have one element.
func filled(message protoreflect.Message, n int) protoreflect.Message {
	value := func(field protoreflect.FieldDescriptor) protoreflect.Value {
		switch field.Kind() {
		case protoreflect.MessageKind:
			return protoreflect.ValueOfMessage(message.NewField(field).Message())
		case protoreflect.StringKind:
			return protoreflect.ValueOfString(strconv.Itoa(n))
		case protoreflect.BoolKind:
			return protoreflect.ValueOfBool(true)
		default:
			return protoreflect.ValueOfUint64(uint64(n))
		}
	}
	for i := range message.Descriptor().Fields().Len() {
		field := message.Descriptor().Fields().Get(i)
		if !field.IsList() {
			message.Set(field, value(field))
			continue
		}
		list := message.NewField(field).List()
		if field.Kind() == protoreflect.MessageKind {
			list.Append(list.NewElement())
		} else {
			list.Append(value(field))
		}
		message.Set(field, protoreflect.ValueOfList(list))
	}
	return message
}

func TestMergeCarriesEveryField(t *testing.T) {
	for _, into := range []*wire.DriverMessage{{}, filled((&wire.DriverMessage{}).ProtoReflect(), 1).Interface().(*wire.DriverMessage)} {
		before := proto.CloneOf(into).ProtoReflect()
		merge(into, filled((&wire.DriverMessage{}).ProtoReflect(), 2).Interface().(*wire.DriverMessage))
		fields := into.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			field := fields.Get(i)
			if field.IsList() {
				require.Equal(t, before.Get(field).List().Len()+1, into.ProtoReflect().Get(field).List().Len(), "field %s", field.Name())
			} else {
				require.True(t, into.ProtoReflect().Has(field), "field %s", field.Name())
			}
		}
	}
}

// sent is a stream that records messages.
type sent struct {
	wire.DriverSide
	messages []*wire.DriverMessage
}

func (s *sent) Send(message *wire.DriverMessage) error {
	s.messages = append(s.messages, message)
	return nil
}

// The first part of a split message may contain only fields that executors act on before
// launches; see wire.DriverMessage.
func TestASplitMessageLosesNoField(t *testing.T) {
	message := filled((&wire.DriverMessage{}).ProtoReflect(), 1).Interface().(*wire.DriverMessage)
	message.TaskSets = []*wire.TaskSet{{Id: 1, Common: make([]byte, wire.MaxPart)}, {Id: 2}}
	whole := proto.CloneOf(message)
	stream := &sent{}
	require.NoError(t, sendSplit(stream, message))
	require.Len(t, stream.messages, 2)
	stream.messages[0].ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		require.Contains(t, []protoreflect.Name{
			"refused", "registered", "credentials", "decommission", "release", "task_sets",
			"barrier_peers", "commit_replies", "barrier_releases", "recall",
		}, field.Name())
		return true
	})
	merge(stream.messages[0], stream.messages[1])
	require.True(t, proto.Equal(whole, stream.messages[0]))
}
