package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/credentials"
)

// parseCache parses the content of a ticket cache. name is the cache's name, for error
// messages.
func parseCache(name string, content []byte) (cache *credentials.CCache, err error) {
	if err := checkCache(content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { // gokrb5 panics if content is malformed
		if recover() != nil {
			cache, err = nil, fmt.Errorf("%s: %w", name, errCache)
		}
	}()
	cache = &credentials.CCache{Path: name}
	if err := cache.Unmarshal(content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cache, nil
}

var errCache = errors.New("it is no complete ticket cache: run kinit again")

// checkCache fails if the content of a ticket cache contains a length or a number of elements
// that is larger than the rest of the content. gokrb5 would allocate memory of that size. See
// MIT's description of the format,
// https://web.mit.edu/kerberos/krb5-latest/doc/formats/ccache_file_format.html.
func checkCache(content []byte) error {
	if len(content) < 2 || content[0] != 5 {
		return errCache
	}
	version := content[1]
	if version != 3 && version != 4 {
		return fmt.Errorf("it is a ticket cache of version %d, and bobbin reads the versions 3 and 4: see ccache_type in krb5.conf", version)
	}
	w := cacheWalk{rest: content[2:]}
	if version == 4 {
		w.skip(int64(binary.BigEndian.Uint16(w.take(2)))) // the header
	}
	w.principal()
	for len(w.rest) > 0 && !w.short {
		w.principal() // client
		w.principal() // server
		w.skip(2)     // type of the key
		if version == 3 {
			w.skip(2) // version 3 stores the type twice
		}
		w.data()            // key
		w.skip(4*4 + 1 + 4) // times, is_skey, flags
		w.typed()           // addresses
		w.typed()           // authorization data
		w.data()            // ticket
		w.data()            // second ticket
	}
	if w.short {
		return errCache
	}
	return nil
}

// cacheWalk walks through the content of a ticket cache.
type cacheWalk struct {
	rest  []byte
	short bool // the content ended too early; rest is then empty
}

// take returns the next n bytes. If fewer than n bytes are left, it sets short and returns
// min(n, 4) zeros.
func (w *cacheWalk) take(n int64) []byte {
	if n > int64(len(w.rest)) {
		w.rest, w.short = nil, true
		return make([]byte, min(n, 4))
	}
	taken := w.rest[:n]
	w.rest = w.rest[n:]
	return taken
}

func (w *cacheWalk) skip(n int64) { w.take(n) }

func (w *cacheWalk) number() int64 { return int64(binary.BigEndian.Uint32(w.take(4))) }

// data skips a field of variable length: its length in 4 bytes, then its content.
func (w *cacheWalk) data() { w.skip(w.number()) }

// principal skips a principal: its type, the number of components, realm, components.
func (w *cacheWalk) principal() {
	w.skip(4)
	components := w.number()
	w.data()
	for i := int64(0); i < components && !w.short; i++ {
		w.data()
	}
}

// typed skips a list: the number of elements, then the type and data of each.
func (w *cacheWalk) typed() {
	for i, n := int64(0), w.number(); i < n && !w.short; i++ {
		w.skip(2)
		w.data()
	}
}
