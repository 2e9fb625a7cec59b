package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Size returns the total size in bytes of the launch's inputs.
func (l *Launch) Size() int {
	size := 0
	for _, input := range l.GetInputs() {
		size += len(input)
	}
	return size
}

// Input returns the input of the launch's i-th attempt; nil if it is empty.
func (l *Launch) Input(i int) []byte {
	if inputs := l.GetInputs(); i < len(inputs) {
		return inputs[i]
	}
	return nil
}

// ResourcesOf converts addresses, by resource name, to their form in messages, or nil.
func ResourcesOf(resources map[string][]string) map[string]*Addresses {
	if len(resources) == 0 {
		return nil
	}
	encoded := make(map[string]*Addresses, len(resources))
	for name, addresses := range resources {
		encoded[name] = &Addresses{Addresses: addresses}
	}
	return encoded
}

// FromResources is the inverse of ResourcesOf.
func FromResources(encoded map[string]*Addresses) map[string][]string {
	if len(encoded) == 0 {
		return nil
	}
	resources := make(map[string][]string, len(encoded))
	for name, addresses := range encoded {
		resources[name] = addresses.GetAddresses()
	}
	return resources
}

// maxHoldKey is the largest size in bytes of a key. It is small because one message may
// contain many keys.
const maxHoldKey = 512

// HoldKey returns a key of held data (Task.Hold) as it is sent. A key that is longer than
// maxHoldKey or, as protobuf would reject it, not UTF-8 is replaced by its beginning and
// its SHA-256.
func HoldKey(key string) string {
	valid := strings.ToValidUTF8(key, "\uFFFD")
	if valid == key && len(key) <= maxHoldKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	if len(valid) > maxHoldKey/2 {
		valid = strings.ToValidUTF8(valid[:maxHoldKey/2], "")
	}
	return valid + "…" + hex.EncodeToString(sum[:])
}
