package remote

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// fill sets every field of v, recursively, to a nonzero value.
func fill(t *testing.T, v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(7, 0).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		require.FailNow(t, "a kind of field that the link does not know", "%v", v.Type())
	}
}

// TestEncodeRequestKeepsAllFields fails if a new field of a request, demand or profile is not
// encoded.
func TestEncodeRequestKeepsAllFields(t *testing.T) {
	var request driver.Request
	fill(t, reflect.ValueOf(&request).Elem())
	encoded, err := proto.Marshal(encodeRequest(request))
	require.NoError(t, err)
	decoded := &wire.ExecutorRequest{}
	require.NoError(t, proto.Unmarshal(encoded, decoded))
	require.Equal(t, request, decodeRequest(decoded))
	require.Equal(t, driver.Request{}, decodeRequest(encodeRequest(driver.Request{})))
}

// TestEncodedStatusKeepsAllFields fails if a new field of the driver's status is not encoded.
func TestEncodedStatusKeepsAllFields(t *testing.T) {
	var status driver.Status
	fill(t, reflect.ValueOf(&status).Elem())
	encoded, err := json.Marshal(status)
	require.NoError(t, err)
	var decoded driver.Status
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	require.Equal(t, status, decoded)
}

func TestDecodeNoticeWithoutDeadline(t *testing.T) {
	require.True(t, decodeNotice(&wire.ExecutorNotice{Reason: "why"}).Deadline.IsZero())
	at := time.Now().Add(time.Minute)
	require.True(t, at.Equal(decodeNotice(&wire.ExecutorNotice{Deadline: at.UnixNano()}).Deadline))
	require.True(t, decodeNotice(&wire.ExecutorNotice{NodeLeaves: true}).NodeLeaves)
}
