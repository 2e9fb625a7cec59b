package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestHeartbeatsThatSayNothingElse(t *testing.T) {
	idle := func() *ExecutorMessage { return &ExecutorMessage{Heartbeat: &Heartbeat{ResidentBytes: 5}} }
	require.True(t, idle().IsIdleHeartbeat())
	require.False(t, (&ExecutorMessage{}).IsIdleHeartbeat())
	require.False(t, (&ExecutorMessage{Heartbeat: &Heartbeat{Progress: []*TaskProgress{{}}}}).IsIdleHeartbeat())
	fields := idle().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.Name() == "heartbeat" {
			continue
		}
		message := idle()
		switch m := message.ProtoReflect(); {
		case !field.IsList():
			m.Set(field, m.NewField(field))
		case field.Message() != nil:
			m.Mutable(field).List().AppendMutable()
		case field.Kind() == protoreflect.StringKind:
			m.Mutable(field).List().Append(protoreflect.ValueOfString("key"))
		default:
			m.Mutable(field).List().Append(protoreflect.ValueOfUint64(1))
		}
		require.False(t, message.IsIdleHeartbeat(), field.Name())
	}
}
