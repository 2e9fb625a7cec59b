package recovery

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// sealMagic is the prefix of every sealed record (see [Seal]). Its last byte is the version of
// the format.
const sealMagic = "bbr\x01"

// sealBytes is the length of the header: sealMagic, and a CRC-32C of kind, id and data, which
// are separated by NULs.
const sealBytes = len(sealMagic) + crc32.Size

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// DamagedError means that a record is damaged and cannot be read.
type DamagedError struct {
	Where    string // the file, or the servers and the key
	Kind, ID string
	Reason   string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the record %s/%s in %s is damaged: %s", e.Kind, e.ID, e.Where, e.Reason)
}

// Check fails if the kind or id of a record is empty or contains a NUL.
func Check(changes []Record) error {
	for _, r := range changes {
		switch {
		case r.Kind == "" || r.ID == "":
			return fmt.Errorf("a record of kind %q with id %q: neither may be empty", r.Kind, r.ID)
		case strings.ContainsRune(r.Kind, 0) || strings.ContainsRune(r.ID, 0):
			return fmt.Errorf("a record of kind %q with id %q: neither may hold a NUL", r.Kind, r.ID)
		}
	}
	return nil
}

// LatestOnly removes changes that later changes of the same record replace, because etcd
// accepts only one change of a key in a transaction.
func LatestOnly(changes []Record) []Record {
	type key struct{ kind, id string }
	index := make(map[key]int, len(changes))
	newest := make([]Record, 0, len(changes))
	for _, r := range changes {
		k := key{r.Kind, r.ID}
		if i, ok := index[k]; ok {
			newest[i] = r
			continue
		}
		index[k] = len(newest)
		newest = append(newest, r)
	}
	return newest
}

// Seal returns a header with a checksum, which Unseal verifies, followed by the record's data.
func Seal(r Record) []byte {
	sealed := make([]byte, sealBytes, sealBytes+len(r.Data))
	copy(sealed, sealMagic)
	binary.BigEndian.PutUint32(sealed[len(sealMagic):], checksum(r))
	return append(sealed, r.Data...)
}

// Unseal returns the record that Seal encoded. It fails if the bytes are damaged.
func Unseal(kind, id string, sealed []byte) (Record, error) {
	switch {
	case len(sealed) < sealBytes:
		return Record{}, fmt.Errorf("it has %d bytes, fewer than any record", len(sealed))
	case string(sealed[:len(sealMagic)-1]) != sealMagic[:len(sealMagic)-1]:
		return Record{}, errors.New("it was not written by a master")
	case sealed[len(sealMagic)-1] != sealMagic[len(sealMagic)-1]:
		return Record{}, fmt.Errorf("it has the form %d, and this master knows form %d: was it written by a newer one?",
			sealed[len(sealMagic)-1], sealMagic[len(sealMagic)-1])
	}
	r := Record{Kind: kind, ID: id, Data: append([]byte{}, sealed[sealBytes:]...)}
	if checksum(r) != binary.BigEndian.Uint32(sealed[len(sealMagic):]) {
		return Record{}, errors.New("its checksum is not that of its content")
	}
	return r, nil
}

func checksum(r Record) uint32 {
	sum := crc32.Update(0, castagnoli, []byte(r.Kind))
	sum = crc32.Update(sum, castagnoli, []byte{0})
	sum = crc32.Update(sum, castagnoli, []byte(r.ID))
	sum = crc32.Update(sum, castagnoli, []byte{0})
	return crc32.Update(sum, castagnoli, r.Data)
}

// Sort sorts records by kind and id.
func Sort(records []Record) {
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
}
