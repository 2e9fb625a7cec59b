package broadcast

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/bobbin-yarn/bobbin/block"
)

// maxPiece is the size in bytes of a source's pieces, except the last piece of each value.
const maxPiece = 4 << 20

// homesID is the id of the block with the addresses of the homes.
const homesID = block.ID("broadcasthomes")

// keyPrefix is the prefix of the keys that Key returns, and of the ids of pieces.
const keyPrefix = "broadcastpiece_"

// Value describes a value that a Source stores. The driver sends it to tasks, which load
// the value with [Peer.Load].
type Value struct {
	_        struct{} `cbor:",toarray"`
	ID       uint64
	Size     int64  // of the encoded value, in bytes
	Piece    int64  // of each piece except the last one, in bytes
	Checksum uint64 // of the encoded value
	Source   string // host:port of the source's data port; "" if it has none
}

func (v Value) String() string { return fmt.Sprintf("broadcast value %d (%d bytes)", v.ID, v.Size) }

// pieces returns the number of pieces.
func (v Value) pieces() int { return int((v.Size + v.Piece - 1) / v.Piece) }

// slice returns the part of an encoded value that is its i-th piece.
func (v Value) slice(encoded []byte, i int) []byte {
	return encoded[int64(i)*v.Piece : min(int64(i+1)*v.Piece, v.Size)]
}

// check returns an error that wraps block.ErrDamaged if the checksum of encoded is not that
// of the value.
func (v Value) check(encoded []byte) error {
	if sum := xxh3.Hash(encoded); sum != v.Checksum {
		return fmt.Errorf("%w: its checksum is %x, and that of the bytes that arrived %x", block.ErrDamaged, v.Checksum, sum)
	}
	return nil
}

// Key returns the key of a value, the argument of [Peer.Release].
func Key(value uint64) string { return keyPrefix + strconv.FormatUint(value, 10) }

// piece identifies a piece of a value.
type piece struct {
	value uint64
	index int
}

// id returns the id of the piece's block.
func (p piece) id() block.ID { return block.ID(fmt.Sprintf("%s_%d", Key(p.value), p.index)) }

// at returns the id with which peers request the piece from its home. source is the address
// of the source.
func (p piece) at(source string) block.ID { return p.id() + block.ID("@"+source) }

// parse parses an id that piece.id or piece.at returned. For an id from piece.id, source is
// "". For any other id, ok is false.
func parse(id block.ID) (p piece, source string, ok bool) {
	name, source, requested := strings.Cut(string(id), "@")
	value, index, _ := strings.Cut(strings.TrimPrefix(name, keyPrefix), "_")
	var invalid [2]error
	p.value, invalid[0] = strconv.ParseUint(value, 10, 64)
	p.index, invalid[1] = strconv.Atoi(index)
	if invalid != [2]error{} || requested == (source == "") || string(p.id()) != name {
		return piece{}, "", false
	}
	return p, source, true
}

// home returns the home of a piece: one of homes, or "" if homes is empty. The order of
// homes does not matter. If homes are added or removed, most pieces keep their home.
func (p piece) home(homes []string) (best string) {
	var most uint64
	id := string(p.id())
	for _, home := range homes {
		if weight := xxh3.HashString(home + " " + id); best == "" || weight > most {
			best, most = home, weight
		}
	}
	return best
}
