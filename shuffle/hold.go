package shuffle

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/block"
)

// HoldKey returns the key that a map task passes to bobbin.Task.Hold. While an executor has
// data under a key, dynamic allocation does not stop the executor.
func HoldKey(shuffle uint64) string { return fmt.Sprintf("%s%d", sectionPrefix, shuffle) }

// Release removes the outputs of the shuffle for which HoldKey returned key. It ignores keys
// that HoldKey did not return.
func (s *Service) Release(key string) {
	if number, ok := strings.CutPrefix(key, sectionPrefix); ok {
		if shuffle, err := strconv.ParseUint(number, 10, 64); err == nil {
			s.Remove(shuffle)
		}
	}
}

// FetchBlock fetches a whole block from the executor whose data port is at address.
func (s *Service) FetchBlock(ctx context.Context, address string, id block.ID) ([]byte, error) {
	if s.options.Peers == nil {
		return nil, fmt.Errorf("fetch block %s: %w", id, block.ErrNotFound)
	}
	for fetched, err := range s.options.Peers.Fetch(ctx, address, id) {
		if err != nil {
			return nil, err
		}
		content := make([]byte, fetched.Size)
		_, err = io.ReadFull(fetched, content)
		return content, err
	}
	return nil, fmt.Errorf("fetch block %s: %w", id, block.ErrNotFound)
}

// Store returns the executor's block store.
func (s *Service) Store() *block.Store { return s.options.Store }
