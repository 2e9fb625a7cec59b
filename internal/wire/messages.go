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

// Input returns the input of the i-th attempt in the launch; nil if the input is empty.
func (l *Launch) Input(i int) []byte {
	if inputs := l.GetInputs(); i < len(inputs) {
		return inputs[i]
	}
	return nil
}

// ResourcesOf converts addresses, by resource name, to their protobuf form; nil if there are
// none.
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

// maxHoldKey is the maximum size in bytes of a key of Task.Hold in a message. It is small
// because one message may contain many keys.
const maxHoldKey = 512

// HoldKey returns the form of a key of Task.Hold that is sent in messages. A key that is longer
// than maxHoldKey or not UTF-8, which protobuf would reject, is replaced by its first bytes and
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
