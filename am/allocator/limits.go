package allocator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// containerLimits is the maximum allocation of the cluster.
type containerLimits struct {
	known       bool // set when the application registers, which sets the other fields
	max         yarn.Resource
	checksCores bool // whether the ResourceManager limits cores, not only memory
}

// setFrom sets the limits to those in the answer to a registration. It never lowers limits, because
// a restarted ResourceManager may not know all nodes yet.
func (l *containerLimits) setFrom(granted *yarn.RegisterResponse) {
	l.known = true
	l.checksCores = granted.ChecksCores
	l.max.MemoryMB = max(l.max.MemoryMB, granted.MaxResource.MemoryMB)
	l.max.VCores = max(l.max.VCores, granted.MaxResource.VCores)
	for name, amount := range granted.MaxResource.Others {
		if l.max.Others == nil {
			l.max.Others = map[string]int64{}
		}
		l.max.Others[name] = max(l.max.Others[name], amount)
	}
}

// check returns an error if the executors of a profile exceed the limits. It ignores cores if the
// cluster's scheduler does.
func (l *containerLimits) check(p profile.Profile, size yarn.Resource) error {
	if !l.known {
		return nil
	}
	compared := size
	if !l.checksCores {
		compared.VCores = 0
	}
	if compared.Fits(l.max) {
		return nil
	}
	advice := "executor.memory, executor.memoryOverhead or executor.cores"
	if others := slices.Sorted(maps.Keys(size.Others)); len(others) > 0 {
		advice += fmt.Sprintf(", or the amount of %v", others)
	}
	if p.ID == profile.DefaultID {
		return fmt.Errorf("an executor takes %v, the most that this cluster gives is %v: lower %s", size, l.max, advice)
	}
	return fmt.Errorf("an executor of resource profile %d takes %v, the most that this cluster gives is %v: lower what the profile asks for", p.ID, size, l.max)
}

// checkAll calls check for each profile for which the driver wants executors.
func (l *containerLimits) checkAll(profiles []*profileState) error {
	for _, p := range profiles {
		if p.demand.Total == 0 {
			continue
		}
		if err := l.check(p.Profile, p.size); err != nil {
			return err
		}
	}
	return nil
}

// TooLargeError is the error of [Allocator.Run] if an executor exceeds the maximum allocation of
// the cluster.
type TooLargeError struct{ error }

// Unwrap returns the error with the profile and the limit.
func (u *TooLargeError) Unwrap() error { return u.error }
