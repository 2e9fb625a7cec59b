package dataset

// orBroadcast adds an operator that joins the two sides of c in one of two ways, which the
// driver chooses: by a shuffle, as shuffled does, or by broadcasting one side. If keepLeft
// is true, the result has left values without a partner too. Then the left side cannot be
// broadcast: a task that reads one partition of the right side does not know whether other
// partitions have partners. keepRight has the same meaning for the right side. If a side is
// already partitioned by key, it needs no shuffle, and orBroadcast returns shuffled.
func orBroadcast[K, V, W, U any](shuffled *Of[U], c *coGrouping[K, V, W], keepLeft, keepRight bool, f func(K, *V, *W) U) *Of[U] {
	if c.left.exchange == nil || c.right.exchange == nil || keepLeft && keepRight {
		return shuffled
	}
	n := &node{operator: shuffled.node.operator, elementwise: true}
	n.partitions = func(l *layout) int { return l.count(l.inputs(n)[0]) }
	sets := []*Of[U]{shuffled}
	if !keepRight {
		set, whole := broadcastSmall(n.operator, &c.left, &c.right, keepLeft, f)
		sets = append(sets, set)
		n.broadcasts = append(n.broadcasts, broadcastSide{name: "right", whole: whole, other: c.left.in.node})
	}
	if !keepLeft {
		set, whole := broadcastSmall(n.operator, &c.right, &c.left, keepRight, func(key K, w *W, v *V) U { return f(key, v, w) })
		sets = append(sets, set)
		n.broadcasts = append(n.broadcasts, broadcastSide{name: "left", whole: whole, other: c.right.in.node})
	}
	for _, set := range sets {
		n.inputs = append(n.inputs, set.node)
	}
	return newOf(shuffled.plan, n, func(x *taskContext, partition int, emit func(U) bool) {
		sets[x.layout.Joins[n.ref()]].compute(x, partition, emit)
	})
}

// broadcastSmall adds an operator that joins each partition of the large side with all
// records of the small side's shuffle. Each process reads these records once for all of its
// tasks. Elements of the large side are encoded and decoded as in a shuffle, so that both
// kinds of join have the same results.
func broadcastSmall[K, L, S, U any](operator string, large *keyedInput[K, L], small *keyedInput[K, S], keepLarge bool, f func(K, *L, *S) U) (joined *Of[U], whole *node) {
	all := small.whole(operator)
	tables := newJoinTables(all, small.kvCodec, func(*taskContext, int64) error { return nil })
	n := broadcastNode(operator, large.in.node, all.node)
	return newOf(large.in.plan, n, func(x *taskContext, partition int, emit func(U) bool) {
		table, ok := tables.acquire(x)
		if !ok {
			return
		}
		defer tables.release()
		large.encode(x, partition, func(encodedKey, encoded []byte) error {
			found := table.find(encodedKey)
			if len(found) == 0 && !keepLarge {
				return nil
			}
			element, err := large.decodePair(encodedKey, encoded)
			if err != nil {
				return err
			}
			if len(found) == 0 && !emit(f(element.Key, &element.Value, nil)) {
				return errEnough
			}
			for _, value := range found {
				if !emit(f(element.Key, &element.Value, &value)) {
					return errEnough
				}
			}
			return nil
		})
		if x.err == errEnough {
			x.err = nil
		}
	}), all.node
}

// whole adds an operator whose only partition has all records of the side's shuffle.
func (side *keyedInput[K, V]) whole(operator string) *Of[KV[K, V]] {
	n := &node{operator: operator, shuffles: []*exchange{side.exchange}, shared: true, buffersElements: true, partitions: func(*layout) int { return 1 }}
	return newOf(side.in.plan, n, func(x *taskContext, _ int, emit func(KV[K, V]) bool) {
		for partition := 0; partition < x.layout.Partitions && x.err == nil; partition++ {
			x.fetch(side.exchange, partition, func(key, value []byte) error {
				element, err := side.decodePair(key, value)
				if err == nil && !emit(element) {
					err = errEnough
				}
				return err
			})
		}
		if x.err == errEnough {
			x.err = nil
		}
	})
}
