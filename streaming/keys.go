package streaming

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// fields specifies how a line is divided into key and value. The key is the first Keys fields
// of the line. The value is the part after the separator that follows these fields.
type fields struct {
	Separator string
	Keys      int
}

// split returns the key and the value of a line. If the line has too few separators, the whole
// line is the key, and separated is false.
func (f fields) split(line []byte) (key, value []byte, separated bool) {
	at := 0
	for i := range f.Keys {
		n := bytes.Index(line[at:], []byte(f.Separator))
		if n < 0 {
			return line, nil, false
		}
		if at += n; i < f.Keys-1 {
			at += len(f.Separator)
		}
	}
	return line[:at], line[at+len(f.Separator):], true
}

// keySpec is one option -k, such as -k2.3,4.1nr, with the syntax of the command sort. It
// selects the part of a key from character BeginChar of field Begin to character EndChar of
// field End. Characters and fields are counted from 1.
type keySpec struct {
	Begin, BeginChar int
	End              int // 0 means the end of the key
	EndChar          int // 0 means the end of the field
	Numeric, Reverse bool
}

// keyOptions are the options of Hadoop's KeyFieldBasedComparator or KeyFieldBasedPartitioner.
// They select the parts of keys by which keys are compared or partitioned. If Keys is empty,
// the whole key is used.
type keyOptions struct {
	Separator string // separates the fields of a key
	Keys      []keySpec
}

// parseKeyOptions parses options such as "-k1,1 -k2.3,2nr". A flag that stands alone, such
// as -n, applies to each -k that has no flags, or to the whole key if there is no -k.
func parseKeyOptions(text, separator string) (keyOptions, error) {
	o := keyOptions{Separator: separator}
	words := strings.Fields(text)
	var all keySpec
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		key, isKey := strings.CutPrefix(word, "-k")
		if isKey {
			if key == "" && len(words) > 0 {
				key, words = words[0], words[1:]
			}
			spec, err := parseKey(key)
			if err != nil {
				return o, fmt.Errorf("-k %s: %w: want -k FIELD[.CHARACTER][nr][,FIELD[.CHARACTER][nr]]", key, err)
			}
			o.Keys = append(o.Keys, spec)
			continue
		}
		flags, isFlag := strings.CutPrefix(word, "-")
		if !isFlag || flags == "" || !all.addFlags(flags) {
			return o, fmt.Errorf("%q is not known: want -k, -n, -r", word)
		}
	}
	for i := range o.Keys {
		if key := &o.Keys[i]; !key.Numeric && !key.Reverse {
			key.Numeric, key.Reverse = all.Numeric, all.Reverse
		}
	}
	if len(o.Keys) == 0 && (all.Numeric || all.Reverse) {
		all.Begin, all.BeginChar = 1, 1
		o.Keys = []keySpec{all}
	}
	return o, nil
}

// addFlags sets the flags n and r that occur in flags. It returns false if flags contains
// another character.
func (k *keySpec) addFlags(flags string) bool {
	for _, flag := range flags {
		switch flag {
		case 'n':
			k.Numeric = true
		case 'r':
			k.Reverse = true
		default:
			return false
		}
	}
	return true
}

func parseKey(text string) (key keySpec, err error) {
	begin, end, hasEnd := strings.Cut(text, ",")
	key.BeginChar = 1
	err = key.parsePosition(begin, &key.Begin, &key.BeginChar, 1)
	if err == nil && hasEnd {
		err = key.parsePosition(end, &key.End, &key.EndChar, 0)
	}
	return key, err
}

// parsePosition parses FIELD[.CHARACTER][nr]. It sets *field, and sets *character if the text
// has a CHARACTER. least is the smallest valid CHARACTER.
func (k *keySpec) parsePosition(text string, field, character *int, least int) error {
	position := strings.TrimRight(text, "nr")
	k.addFlags(text[len(position):])
	one, other, hasCharacter := strings.Cut(position, ".")
	n, err := strconv.ParseUint(one, 10, 31)
	if err != nil || n < 1 {
		return errors.New("fields are counted from 1")
	}
	*field = int(n)
	if !hasCharacter {
		return nil
	}
	if n, err = strconv.ParseUint(other, 10, 31); err != nil || int(n) < least {
		return fmt.Errorf("characters are counted from %d", least)
	}
	*character = int(n)
	return nil
}

// part returns the part of a key that spec selects. ok is false if the key ends before the
// part begins.
func (o *keyOptions) part(key []byte, spec keySpec) (part []byte, ok bool) {
	begin, found := o.field(key, spec.Begin)
	if begin += spec.BeginChar - 1; !found || begin >= len(key) {
		return nil, false
	}
	end := len(key)
	if spec.End > 0 {
		if field, found := o.field(key, spec.End); found {
			if spec.EndChar > 0 {
				end = min(end, field+spec.EndChar)
			} else if n := bytes.Index(key[field:], []byte(o.Separator)); n >= 0 {
				end = field + n
			}
		}
	}
	return key[begin:max(begin, end)], true
}

// field returns the offset in key at which the field with the given number, counted from 1,
// begins. found is false if the key has fewer fields.
func (o *keyOptions) field(key []byte, number int) (at int, found bool) {
	for range number - 1 {
		n := bytes.Index(key[at:], []byte(o.Separator))
		if n < 0 {
			return 0, false
		}
		at += n + len(o.Separator)
	}
	return at, true
}

// partition returns the partition that Hadoop assigns to a key: by HashPartitioner if o has no
// Keys, otherwise by KeyFieldBasedPartitioner.
func (o *keyOptions) partition(key []byte, partitions int) int {
	hash := int32(0)
	add := func(part []byte) {
		for _, b := range part {
			hash = 31*hash + int32(int8(b))
		}
	}
	if len(o.Keys) == 0 {
		hash = 1
		add(key)
	} else {
		for _, spec := range o.Keys {
			part, _ := o.part(key, spec)
			add(part)
		}
	}
	return int(hash&math.MaxInt32) % partitions
}

// The encoding of a part of a key by appendSortKey begins with a mark. If the key does not
// have the part, the encoding is only markAbsent, which sorts before all others.
const (
	markAbsent  = 0
	markPresent = 1
)

// appendSortKey appends an encoding of key to b. The byte-wise order of encodings is the order
// in which KeyFieldBasedComparator sorts the keys.
func (o *keyOptions) appendSortKey(b, key []byte) []byte {
	for _, spec := range o.Keys {
		start := len(b)
		part, ok := o.part(key, spec)
		switch {
		case !ok:
			b = append(b, markAbsent)
		case spec.Numeric:
			b = appendNumber(append(b, markPresent), part)
		default:
			// Each zero byte of the part is followed by 255, and two zero bytes follow the
			// part. So no encoded part is a prefix of another.
			b = append(b, markPresent)
			for _, c := range part {
				if b = append(b, c); c == 0 {
					b = append(b, 255)
				}
			}
			b = append(b, 0, 0)
		}
		if spec.Reverse {
			complement(b[start:])
		}
	}
	return b
}

func complement(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// appendNumber appends to b an encoding of the decimal number with which part begins, or of 0
// if part does not begin with a number. The byte-wise order of encodings is the order of the
// numbers.
func appendNumber(b, part []byte) []byte {
	rest, negative := bytes.CutPrefix(part, []byte("-"))
	whole := rest[:digits(rest)]
	var fraction []byte
	if rest, ok := bytes.CutPrefix(rest[len(whole):], []byte(".")); ok {
		fraction = bytes.TrimRight(rest[:digits(rest)], "0")
	}
	whole = bytes.TrimLeft(whole, "0")
	if len(whole)+len(fraction) == 0 {
		return append(b, zeroMark)
	}
	start := len(b)
	b = append(b, positiveMark)
	b = binary.BigEndian.AppendUint32(b, uint32(len(whole)))
	b = append(append(append(b, whole...), fraction...), 0)
	if negative {
		complement(b[start:])
	}
	return b
}

// The encoding of a number begins with one of these marks. The encoding of a negative number
// is the bitwise complement of the encoding of its absolute value, so its first byte is
// ^positiveMark, which is less than zeroMark.
const (
	zeroMark     = 0x80
	positiveMark = 0x81
)

// digits returns the number of ASCII digits at the beginning of b.
func digits(b []byte) int {
	n := bytes.IndexFunc(b, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		return len(b)
	}
	return n
}
