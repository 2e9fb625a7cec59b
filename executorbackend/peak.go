package executorbackend

import "sync/atomic"

// peak is the most of what was seen.
type peak struct{ bytes atomic.Uint64 }

func (p *peak) raise(bytes uint64) {
	for {
		seen := p.bytes.Load()
		if bytes <= seen || p.bytes.CompareAndSwap(seen, bytes) {
			return
		}
	}
}
