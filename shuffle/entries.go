package shuffle

// entries are the entries of a Writer, in chunks that do not move. The zero value is empty.
type entries struct {
	chunks []*[entryChunk]entry
	n      int
}

const entryChunk = 4096

func (e *entries) len() int { return e.n }

// bytes returns the memory of the entries, and of the next chunk if it is needed for
// one more.
func (e *entries) bytes() int64 { return int64(e.n/entryChunk+1) * entryChunk * entryBytes }

func (e *entries) add(added entry) {
	chunk := e.n / entryChunk
	if chunk == len(e.chunks) {
		e.chunks = append(e.chunks, new([entryChunk]entry))
	}
	e.chunks[chunk][e.n%entryChunk] = added
	e.n++
}

func (e *entries) at(i int) *entry { return &e.chunks[i/entryChunk][i%entryChunk] }

// byPartition returns the indexes of the entries in the order of their partitions, and
// the end of each partition in it.
func (e *entries) byPartition(partitions int) (order, ends []uint32) {
	ends = make([]uint32, partitions)
	for i := range e.n {
		ends[e.at(i).partition]++
	}
	begin := uint32(0)
	for p, count := range ends {
		ends[p] = begin
		begin += count
	}
	order = make([]uint32, e.n)
	for i := range e.n {
		p := e.at(i).partition
		order[ends[p]] = uint32(i)
		ends[p]++
	}
	return order, ends
}
