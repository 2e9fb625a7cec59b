package application

import (
	"sync"

	"google.golang.org/grpc"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// masters are those that are known, and the newest term of those that have led.
type masters struct {
	*protocol.Masters

	mu   sync.Mutex
	term uint64
}

func newMasters(addresses []string, dial []grpc.DialOption) *masters {
	return &masters{Masters: protocol.NewMasters(addresses, dial)}
}

// isNewest reports whether no later leader has been heard of than that of a term,
// and notes the term.
func (m *masters) isNewest(term uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if term < m.term {
		return false
	}
	m.term = term
	return true
}
