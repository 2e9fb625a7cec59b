package allocator

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func rackOfLetter(host string) string { return "/" + host[:1] }

// sends calls change, applies an empty answer, and returns the numbers that change has returned.
func (a *asks) sends(total int, hosts map[string]int) []ask {
	send := a.change(total, locations{hosts: hosts})
	a.responseApplied()
	return send
}

func TestOnlyDifferencesAreSent(t *testing.T) {
	a := newAsks(rackOfLetter)
	require.Equal(t, []ask{{"/a", 2}, {"a1", 1}, {"a2", 1}, {anywhere, 3}}, a.sends(3, map[string]int{"a1": 1, "a2": 1}))
	require.Empty(t, a.sends(3, map[string]int{"a1": 1, "a2": 1}))
	require.Equal(t, []ask{{"/a", 1}, {"/b", 1}, {"a2", 0}, {"b1", 1}}, a.sends(3, map[string]int{"a1": 1, "b1": 1}))
	require.Equal(t, []ask{{"/a", 0}, {"/b", 0}, {"a1", 0}, {"b1", 0}, {anywhere, 0}}, a.sends(0, nil))
}

func TestMoreLocationsThanContainersMayBeNamed(t *testing.T) {
	a := newAsks(rackOfLetter)
	require.Equal(t, []ask{{"/a", 2}, {"a1", 2}, {"a2", 1}, {"a3", 1}, {anywhere, 2}}, a.sends(2, map[string]int{"a1": 3, "a2": 1, "a3": 1}))
}

func TestAllocationsLowerTheNumbersThatTheyServe(t *testing.T) {
	a := newAsks(rackOfLetter)
	a.sends(4, map[string]int{"a1": 1, "b1": 1})
	require.Equal(t, onHost, a.allocated("a1"))
	require.Equal(t, inRack, a.allocated("b2"))
	require.Equal(t, elsewhere, a.allocated("c1"))
	require.Equal(t, map[string]int{"b1": 1, anywhere: 1}, a.knownToManager)
	require.True(t, a.isStuck("/b"), "b1 is asked for and its rack is not")
	require.Equal(t, []ask{{"/b", 1}}, a.sends(1, map[string]int{"b1": 1}))
	require.False(t, a.isStuck("/b"))
}

func TestAnAllocationBeforeAChangeDoesNotLowerTheNewNumber(t *testing.T) {
	a := newAsks(rackOfLetter)
	a.sends(2, nil)
	a.change(4, locations{})
	a.allocated("a1") // one of the two containers that the first call of change requested
	a.responseApplied()
	require.Equal(t, 4, a.outstanding(), "the ResourceManager was told 4 after that")
	require.Equal(t, []ask{{anywhere, 3}}, a.sends(3, nil), "so it is told again what is missing")
}

// resourceManagerTable contains the numbers that the ResourceManager stores (AppSchedulingInfo).
type resourceManagerTable map[string]int

func (r resourceManagerTable) allocate(host string) bool {
	if r[anywhere] == 0 {
		return false
	}
	names := []string{anywhere}
	switch rack := rackOfLetter(host); {
	case r[host] > 0 && r[rack] > 0:
		names = append(names, host, rack)
	case r[rack] > 0:
		names = append(names, rack)
	}
	for _, name := range names {
		if r[name]--; r[name] <= 0 {
			delete(r, name)
		}
	}
	return true
}

func (r resourceManagerTable) set(name string, count int) {
	if count == 0 {
		delete(r, name)
	} else {
		r[name] = count
	}
}

// TestAsksEqualTheResourceManagersNumbers lets the ResourceManager allocate containers at random
// times between two heartbeats. The answer to the second heartbeat contains these containers.
func TestAsksEqualTheResourceManagersNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rm := newAsks(rackOfLetter), resourceManagerTable{}
		host := rapid.SampledFrom([]string{"a1", "a2", "b1", "b2", "c1"})
		for range rapid.IntRange(1, 30).Draw(t, "heartbeats") {
			var allocated []string
			for range rapid.IntRange(0, 3).Draw(t, "allocations") {
				if on := host.Draw(t, "on"); rm.allocate(on) {
					allocated = append(allocated, on)
				}
			}
			if rapid.Bool().Draw(t, "change") {
				w := locations{
					hosts: rapid.MapOf(host, rapid.IntRange(0, 3)).Draw(t, "hosts"),
					racks: rapid.MapOf(rapid.SampledFrom([]string{"/a", "/b", "/d"}), rapid.IntRange(0, 2)).Draw(t, "racks"),
				}
				for _, sent := range a.change(rapid.IntRange(0, 9).Draw(t, "total"), w) {
					rm.set(sent.name, sent.count)
				}
			}
			for _, on := range allocated {
				a.allocated(on)
			}
			a.responseApplied()
			require.Equal(t, map[string]int(rm), nonZero(a.knownToManager))
		}
	})
}

func nonZero(m map[string]int) map[string]int {
	kept := map[string]int{}
	maps.Copy(kept, m)
	maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
	return kept
}
