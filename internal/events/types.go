package events

// newEvent maps the name of each event type to a function that returns a new event of the type.
var newEvent = map[string]func() Event{}

func init() {
	for _, f := range []func() Event{
		func() Event { return &ApplicationStarted{} },
		func() Event { return &ApplicationEnded{} },
		func() Event { return &ProfileAdded{} },
		func() Event { return &ExecutorsRequested{} },
		func() Event { return &ExecutorAllocated{} },
		func() Event { return &ExecutorLaunched{} },
		func() Event { return &ExecutorRegistered{} },
		func() Event { return &ExecutorDecommissioned{} },
		func() Event { return &ExecutorLost{} },
		func() Event { return &ExecutorHeapProfiled{} },
		func() Event { return &Excluded{} },
		func() Event { return &ExclusionEnded{} },
		func() Event { return &JobSubmitted{} },
		func() Event { return &JobEnded{} },
		func() Event { return &TaskSetSubmitted{} },
		func() Event { return &TaskSetEnded{} },
		func() Event { return &TaskSetValues{} },
		func() Event { return &TaskSetWaits{} },
		func() Event { return &AttemptFailed{} },
		func() Event { return &CacheChanged{} },
		func() Event { return &StepsPlanned{} },
		func() Event { return &StepStarted{} },
		func() Event { return &StepEnded{} },
		func() Event { return &NotesChanged{} },
	} {
		newEvent[f().Type()] = f
	}
}

// New returns a pointer to a new event of the type whose Event.Type is kind. It returns nil if
// there is no such type.
func New(kind string) Event {
	if f := newEvent[kind]; f != nil {
		return f()
	}
	return nil
}
