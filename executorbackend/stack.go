package executorbackend

import "strings"

// ownFrames begins the functions of bobbin itself. A user's program is package
// main, also where it lies below bobbin's own module.
const ownFrames = "github.com/bobbin-yarn/bobbin"

// trimStack keeps of a stack trace, as debug.Stack made it in a deferred call,
// the frames from where the panic began to the last one of the user's.
func trimStack(trace string) string {
	lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
	if len(lines) < 3 {
		return trace
	}
	frames := lines[1:] // pairs of a function and its place, after "goroutine N [running]:"
	for i := 0; i+1 < len(frames); i += 2 {
		if strings.HasPrefix(frames[i], "panic(") {
			frames = frames[i+2:]
			break
		}
	}
	for len(frames) >= 2 && strings.HasPrefix(frames[0], "runtime.") {
		frames = frames[2:] // how the runtime turned a fault into the panic
	}
	for len(frames) >= 2 && isOwn(frames[len(frames)-2]) {
		frames = frames[:len(frames)-2]
	}
	if len(frames) == 0 {
		return trace
	}
	return strings.Join(frames, "\n")
}

func isOwn(frame string) bool {
	return strings.HasPrefix(frame, ownFrames) || strings.HasPrefix(frame, "created by "+ownFrames)
}
