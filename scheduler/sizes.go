package scheduler

import "slices"

// sizes counts the executors of a place by what they have. Executors of one
// profile come in few sizes.
type sizes []size

// size is how many executors are like one of them.
type size struct {
	example   *executor
	executors int
}

func (z *sizes) add(e *executor, change int) {
	for i := range *z {
		if one := &(*z)[i]; one.example.Cores == e.Cores && one.example.amounts == e.amounts {
			if one.executors += change; one.executors == 0 {
				*z = slices.Delete(*z, i, i+1)
			}
			return
		}
	}
	*z = append(*z, size{example: e, executors: change})
}

// fit is how many executors are large enough for a task of a set, busy or free.
func (z sizes) fit(set *taskSet) int {
	executors := 0
	for _, size := range z {
		if size.example.slots(set) > 0 {
			executors += size.executors
		}
	}
	return executors
}

// slots is how many tasks of a set the executors run at once.
func (z sizes) slots(set *taskSet) int {
	slots := 0
	for _, size := range z {
		slots += size.executors * size.example.slots(set)
	}
	return slots
}
