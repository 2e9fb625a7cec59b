package wire

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentedOrderNamesEveryField(t *testing.T) {
	text, err := os.ReadFile("driver.proto")
	require.NoError(t, err)
	_, order, found := strings.Cut(string(text), "in this order:")
	require.True(t, found)
	order, _, _ = strings.Cut(order, ".\n//\n")
	named := strings.FieldsFunc(order, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })
	fields := (&DriverMessage{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		require.Contains(t, named, string(fields.Get(i).Name()))
	}
}
