package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/profiling"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// maxPprofBytes is the maximum size in bytes of an encoded profile, because it is sent in one
// message.
const maxPprofBytes = 3 << 20

// pprofRequests are the pending requests for profiles. Driver.mu guards them.
type pprofRequests struct {
	last    uint64
	unsent  []*wire.ManagerProfileRequest
	waiting map[uint64]chan<- *wire.ManagerProfile // by id of the request; each channel has room for the reply, so sending never blocks
}

// TakeProfile requests a profile from the driver and waits for it; see driver.Driver.TakeProfile.
// If the connection to the driver breaks meanwhile, there is no reply, and TakeProfile waits until
// ctx ends.
func (r *Driver) TakeProfile(ctx context.Context, request profiling.Request) ([]byte, error) {
	encoded, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	reply := make(chan *wire.ManagerProfile, 1)
	r.mu.Lock()
	r.profiles.last++
	id := r.profiles.last
	r.profiles.waiting[id] = reply
	r.profiles.unsent = append(r.profiles.unsent, &wire.ManagerProfileRequest{Id: id, Json: encoded})
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.profiles.waiting, id)
	}()
	r.signal()
	select {
	case got := <-reply:
		if got.GetError() != "" {
			return nil, errors.New(got.GetError())
		}
		return got.GetContent(), nil
	case <-r.ended:
		return nil, driver.ErrStopped
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// receive sends received profiles to the waiting calls of TakeProfile. The caller holds Driver.mu.
func (p *pprofRequests) receive(received []*wire.ManagerProfile) {
	for _, profile := range received {
		if reply := p.waiting[profile.GetId()]; reply != nil {
			delete(p.waiting, profile.GetId())
			reply <- profile
		}
	}
}

// takeProfileRequests returns and removes the pending requests for profiles.
func (m *Manager) takeProfileRequests(link *managerStream) []*wire.ManagerProfileRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	requests := link.profiles
	link.profiles = nil
	return requests
}

// takeProfile takes a profile and sends it to the ApplicationMaster that has requested it.
func (m *Manager) takeProfile(ctx context.Context, link *managerStream, request *wire.ManagerProfileRequest) {
	reply := &wire.ManagerProfile{Id: request.GetId()}
	var wanted profiling.Request
	err := json.Unmarshal(request.GetJson(), &wanted)
	if err == nil {
		reply.Content, err = m.driver.TakeProfile(ctx, wanted)
	}
	if err == nil && len(reply.Content) > maxPprofBytes {
		err = fmt.Errorf("the profile has %d bytes, the most is %d: profile one executor", len(reply.Content), maxPprofBytes)
	}
	if err != nil {
		reply.Content, reply.Error = nil, err.Error()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stream == link {
		m.addToOrder(func(order *wire.ManagerOrder) { order.Profiles = append(order.Profiles, reply) })
	}
}
