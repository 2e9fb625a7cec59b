package scheduler

// Locality is how close to the place that it prefers a task runs.
type Locality int

// The levels of locality, the best first.
const (
	// ProcessLocal: in an executor that the task prefers.
	ProcessLocal Locality = iota
	// NodeLocal: on a host that the task prefers.
	NodeLocal
	// NoPref: the task prefers no place.
	NoPref
	// RackLocal: in the rack of a host that the task prefers.
	RackLocal
	// Any: anywhere else.
	Any
)

// Localities is how many levels there are.
const Localities = int(Any) + 1

// String is the level's name as in "node-local".
func (l Locality) String() string {
	switch l {
	case ProcessLocal:
		return "process-local"
	case NodeLocal:
		return "node-local"
	case NoPref:
		return "no-pref"
	case RackLocal:
		return "rack-local"
	default:
		return "any"
	}
}
