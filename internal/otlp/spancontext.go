package otlp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Variable is the environment variable with the traceparent of the span in which a process
// runs.
const Variable = "TRACEPARENT"

// SpanContext identifies a span. String formats it as a traceparent (W3C Trace Context).
type SpanContext struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte
}

const (
	version = "00"
	sampled = 1 // the bit of Flags that marks the span as recorded
)

// ParseSpanContext returns the span that a traceparent identifies. It fails if the text is not a
// valid traceparent.
func ParseSpanContext(traceparent string) (c SpanContext, err error) {
	invalid := fmt.Errorf("%q is no traceparent: want 00-<32 hexadecimal digits>-<16>-<2>", traceparent)
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == version && len(parts) != 4 || strings.ToLower(traceparent) != traceparent {
		return c, invalid
	}
	var head, flags [1]byte
	for i, field := range [][]byte{head[:], c.Trace[:], c.Span[:], flags[:]} {
		if len(parts[i]) != 2*len(field) {
			return SpanContext{}, invalid
		}
		if _, err := hex.Decode(field, []byte(parts[i])); err != nil {
			return SpanContext{}, invalid
		}
	}
	c.Flags = flags[0]
	if c.Trace == [16]byte{} || c.Span == [8]byte{} {
		return SpanContext{}, invalid
	}
	return c, nil
}

// String returns the traceparent of c.
func (c SpanContext) String() string {
	return fmt.Sprintf("%s-%x-%x-%02x", version, c.Trace, c.Span, c.Flags)
}

// NewSpan returns a new child of the span that parent identifies. If parent is not a valid
// traceparent, the new span is the root of a new trace.
func NewSpan(parent string) SpanContext {
	c, err := ParseSpanContext(parent)
	if err != nil {
		_, _ = rand.Read(c.Trace[:]) // never fails
		c.Flags = sampled
	}
	_, _ = rand.Read(c.Span[:])
	return c
}

// below returns the id of a descendant of the span c. The id is a hash of c and the
// descendant's name, so that all processes compute the same id.
func (c SpanContext) below(name string) []byte {
	sum := sha256.New()
	sum.Write(c.Trace[:])
	sum.Write(c.Span[:])
	sum.Write([]byte(name))
	return sum.Sum(nil)[:len(c.Span)]
}
