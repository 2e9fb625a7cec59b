package am

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func rackOfLetter(host string) string { return "/" + host[:1] }

func TestOnlyDifferencesAreSent(t *testing.T) {
	a := asks{rackOf: rackOfLetter}
	require.Equal(t, []ask{{"/a", 2}, {"a1", 1}, {"a2", 1}, {anywhere, 3}}, a.change(3, map[string]int{"a1": 1, "a2": 1}))
	require.Empty(t, a.change(3, map[string]int{"a1": 1, "a2": 1}))
	require.Equal(t, []ask{{"/a", 1}, {"/b", 1}, {"a2", 0}, {"b1", 1}}, a.change(3, map[string]int{"a1": 1, "b1": 1}))
	require.Equal(t, []ask{{"/a", 0}, {"/b", 0}, {"a1", 0}, {"b1", 0}, {anywhere, 0}}, a.change(0, nil))
}

func TestAllocationsLowerTheNumbersThatTheyServe(t *testing.T) {
	a := asks{rackOf: rackOfLetter}
	a.change(4, map[string]int{"a1": 1, "b1": 1})
	a.allocated("a1") // on the host
	a.allocated("b2") // in the rack
	a.allocated("c1") // anywhere
	require.Equal(t, map[string]int{"b1": 1, anywhere: 1}, a.believed)
	require.Equal(t, 1, a.outstanding())
}

// resourceManagerTable does to its numbers what AppSchedulingInfo does: it sets
// what it is sent, and lowers what an allocation serves.
type resourceManagerTable map[string]int

func (r resourceManagerTable) allocate(host string) bool {
	if r[anywhere] == 0 {
		return false
	}
	names := []string{anywhere}
	switch rack := rackOfLetter(host); {
	case r[host] > 0:
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

func TestBothSidesAgreeOnWhatIsAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, rm := asks{rackOf: rackOfLetter}, resourceManagerTable{}
		host := rapid.SampledFrom([]string{"a1", "a2", "b1", "b2", "c1"})
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "change") {
				hosts := rapid.MapOf(host, rapid.IntRange(0, 3)).Draw(t, "hosts")
				total := rapid.IntRange(0, 5).Draw(t, "more")
				for _, count := range hosts {
					total += count
				}
				for _, sent := range a.change(total, hosts) {
					if sent.count == 0 {
						delete(rm, sent.name)
					} else {
						rm[sent.name] = sent.count
					}
				}
			} else if on := host.Draw(t, "on"); rm.allocate(on) {
				a.allocated(on)
			}
			require.Equal(t, map[string]int(rm), nonZero(a.believed))
		}
	})
}

func nonZero(m map[string]int) map[string]int {
	kept := map[string]int{}
	maps.Copy(kept, m)
	maps.DeleteFunc(kept, func(_ string, n int) bool { return n == 0 })
	return kept
}
