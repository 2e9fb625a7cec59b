package wire

// Size is about how many bytes the inputs take.
func (l *Launch) Size() int {
	size := 0
	for _, input := range l.GetInputs() {
		size += len(input)
	}
	return size
}

// Input is that of the attempt at a place.
func (l *Launch) Input(at int) []byte {
	if inputs := l.GetInputs(); at < len(inputs) {
		return inputs[at]
	}
	return nil
}
