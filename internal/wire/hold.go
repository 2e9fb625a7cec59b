package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxHoldKey bounds a key in bytes: a message holds many.
const maxHoldKey = 512

// HoldKey is the key under which an executor holds data as it travels: UTF-8, as
// protobuf's texts are, and not long.
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
