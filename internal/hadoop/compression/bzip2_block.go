package compression

import (
	"errors"
	"io"
)

// bzip2Block decompresses one block. Unlike compress/bzip2, it supports randomized blocks,
// which Hadoop's encoder in Java writes for repetitive content.
type bzip2Block struct {
	// order is the Burrows-Wheeler transform of the block. The lower 8 bits of an element are a
	// byte. The upper 24 bits are the index of the element that contains the next byte.
	order  []uint32
	next   uint32 // index of the next element
	left   int    // number of unread elements
	random randomizer

	// After a byte that occurs 4 times in a row, the next element is the number of the byte's
	// further repetitions.
	last     byte   // the last byte that was read
	run      int    // number of elements in a row that were equal to last, at most 4
	repeat   int    // number of repetitions of last that have not been read
	checksum uint32 // checksum of the content that has been read
	want     uint32 // the checksum of the whole content, as the block states it
}

const (
	largestBzip2 = 900_000 // largest size in bytes of a block before and after the transform
	groupSize    = 50      // number of consecutive symbols that are encoded with the same code
	longestCode  = 20      // length in bits of the longest code
)

var errDamagedBzip2 = errors.New("it is damaged")

// decode decodes the block in encoded's bits from skip to size, and prepares b for reading the
// block's content. The block begins with its mark.
func (b *bzip2Block) decode(encoded []byte, skip, size int) error {
	in := bitReader{bytes: encoded[:(size+7)/8], left: size}
	in.read(skip)
	in.read(markBits / 2)
	in.read(markBits / 2)
	want := in.read(16)<<16 | in.read(16)
	random := in.read(1) == 1
	first := in.read(24)
	symbols, err := readBzip2Symbols(&in)
	if err != nil {
		return err
	}
	if b.order, err = symbols.order(&in, b.order[:0]); err != nil {
		return err
	}
	if in.left < 0 || int(first) >= len(b.order) {
		return errDamagedBzip2
	}
	invert(b.order)
	*b = bzip2Block{order: b.order, next: b.order[first] >> 8, left: len(b.order), want: want, checksum: 1<<32 - 1}
	if random {
		b.random.left = randomSteps[0]
	}
	return nil
}

func (b *bzip2Block) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && (b.repeat > 0 || b.left > 0) {
		if b.repeat > 0 {
			b.repeat--
			p[n] = b.last
			n++
			continue
		}
		element := b.order[b.next]
		b.next = element >> 8
		b.left--
		c := byte(element) ^ b.random.next()
		if b.run == 4 {
			b.run, b.repeat = 0, int(c)
			continue
		}
		if c != b.last {
			b.run = 0
		}
		b.run++
		b.last = c
		p[n] = c
		n++
	}
	for _, c := range p[:n] {
		b.checksum = b.checksum<<8 ^ bzip2CRC[byte(b.checksum>>24)^c]
	}
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	if ^b.checksum != b.want {
		return 0, errors.New("the checksum of a block of bzip2 does not match: it is damaged")
	}
	return 0, io.EOF
}

// bzip2CRC is the table of CRC-32 with the most significant bit first.
var bzip2CRC = func() (table [256]uint32) {
	for i := range table {
		crc := uint32(i) << 24
		for range 8 {
			crc = crc<<1 ^ crc>>31*0x04c11db7
		}
		table[i] = crc
	}
	return table
}()

// bzip2Symbols describes how a block's symbols are encoded. The description precedes the
// symbols in the block.
type bzip2Symbols struct {
	used      []byte // the bytes that occur in the block
	codes     []huffman
	selectors []byte // for each group of symbols, the index of its code in codes
}

func readBzip2Symbols(in *bitReader) (*bzip2Symbols, error) {
	s := &bzip2Symbols{}
	for ranges, high := in.read(16), 0; high < 16; high++ {
		if ranges>>(15-high)&1 == 0 {
			continue
		}
		for values, low := in.read(16), 0; low < 16; low++ {
			if values>>(15-low)&1 == 1 {
				s.used = append(s.used, byte(high<<4|low))
			}
		}
	}
	codes, selectors := int(in.read(3)), int(in.read(15))
	if len(s.used) == 0 || codes < 2 || codes > 6 || selectors == 0 || selectors > in.left {
		return nil, errDamagedBzip2
	}
	recent := moveToFront{0, 1, 2, 3, 4, 5}
	for range selectors {
		index := 0
		for in.read(1) == 1 {
			if index++; index == codes {
				return nil, errDamagedBzip2
			}
		}
		s.selectors = append(s.selectors, recent.use(index))
	}
	s.codes = make([]huffman, codes)
	lengths := make([]uint8, len(s.used)+2)
	for i := range s.codes {
		length := in.read(5)
		for symbol := range lengths {
			for in.read(1) == 1 {
				length += 1 - 2*in.read(1)
				if length-1 >= longestCode || in.left < 0 {
					return nil, errDamagedBzip2
				}
			}
			if length-1 >= longestCode {
				return nil, errDamagedBzip2
			}
			lengths[symbol] = uint8(length)
		}
		if !s.codes[i].build(lengths) {
			return nil, errDamagedBzip2
		}
	}
	return s, nil
}

// order decodes the symbols to bytes, appends the bytes to the slice order, and returns the
// extended slice.
func (s *bzip2Symbols) order(in *bitReader, order []uint32) ([]uint32, error) {
	var recent moveToFront
	copy(recent[:], s.used)
	run, weight := 0, 1 // run is a number in bijective base 2, with the digits 1 (symbol 0) and 2 (symbol 1)
	last := uint16(len(s.used) + 1)
	for _, selector := range s.selectors {
		code := &s.codes[selector]
		for range groupSize {
			symbol := code.next(in)
			if symbol <= 1 {
				run += weight << symbol
				weight <<= 1
				if run > largestBzip2 {
					return nil, errDamagedBzip2
				}
				continue
			}
			if len(order)+run >= largestBzip2+1 || symbol > last {
				return nil, errDamagedBzip2
			}
			for range run {
				order = append(order, uint32(recent[0]))
			}
			run, weight = 0, 1
			if symbol == last {
				return order, nil
			}
			order = append(order, uint32(recent.use(int(symbol)-1)))
		}
		if in.left < 0 {
			break
		}
	}
	return nil, errDamagedBzip2
}

// invert sets the upper 24 bits of the elements of a transformed block (see bzip2Block.order).
func invert(order []uint32) {
	var starts [256]uint32
	for _, c := range order {
		starts[c]++
	}
	sum := uint32(0)
	for c, n := range starts {
		starts[c] = sum
		sum += n
	}
	for i, c := range order {
		c &= 0xff
		order[starts[c]] |= uint32(i) << 8
		starts[c]++
	}
}

// moveToFront is a list of bytes, the most recently used byte first.
type moveToFront [256]byte

// use returns the byte at index, and moves it to the front.
func (m *moveToFront) use(index int) byte {
	used := m[index]
	copy(m[1:index+1], m[:index])
	m[0] = used
	return used
}

// noSymbol is the result of huffman.next for bits that encode no symbol.
const noSymbol = 1<<16 - 1

// huffman is a canonical Huffman code.
type huffman struct {
	// limit[n] is greater than the next longestCode bits of the input, read as a number, if and
	// only if the next code in the input has at most n bits.
	limit   [longestCode + 1]uint32
	offset  [longestCode + 1]int32 // by code length: a code plus the offset of its length is the index of its symbol in symbols
	symbols []uint16               // in the order of their codes
}

// build sets h to the code in which symbol i has lengths[i] bits, and reports whether such a
// code exists.
func (h *huffman) build(lengths []uint8) bool {
	code, index := int32(0), int32(0)
	h.symbols = make([]uint16, 0, len(lengths))
	for length := 1; length <= longestCode; length++ {
		h.offset[length] = index - code
		for symbol, l := range lengths {
			if int(l) == length {
				h.symbols = append(h.symbols, uint16(symbol))
				code++
				index++
			}
		}
		if code > 1<<length {
			return false
		}
		h.limit[length] = uint32(code) << (longestCode - length)
		code <<= 1
	}
	return true
}

// next reads a symbol. It returns noSymbol if the bits encode no symbol.
func (h *huffman) next(in *bitReader) uint16 {
	code := in.peek(longestCode)
	for length := 1; length <= longestCode; length++ {
		if code < h.limit[length] {
			in.skip(length)
			return h.symbols[h.offset[length]+int32(code>>(longestCode-length))]
		}
	}
	return noSymbol
}

// bitReader reads bits, the most significant one of each byte first, and zeros after the end.
type bitReader struct {
	bytes  []byte // not yet in buffer
	buffer uint64
	filled int // number of unread bits in buffer, the most significant ones
	left   int // number of bits before the end; negative after the end
}

// peek returns the next n bits, 32 at most.
func (r *bitReader) peek(n int) uint32 {
	for r.filled < n {
		if len(r.bytes) > 0 {
			r.buffer |= uint64(r.bytes[0]) << (56 - r.filled)
			r.bytes = r.bytes[1:]
		}
		r.filled += 8
	}
	return uint32(r.buffer >> (64 - n))
}

func (r *bitReader) skip(n int) {
	r.buffer <<= n
	r.filled -= n
	r.left -= n
}

func (r *bitReader) read(n int) uint32 {
	v := r.peek(n)
	r.skip(n)
	return v
}

// randomizer returns the values to XOR with the bytes of a randomized block: 1 for the
// second-last byte of each step, 0 for all other bytes. randomSteps contains the lengths of the
// steps in bytes.
type randomizer struct {
	left  uint16 // unread bytes of the current step; 0 if the block is not randomized
	index int    // index of the current step in randomSteps
}

func (r *randomizer) next() byte {
	if r.left == 0 {
		return 0
	}
	r.left--
	if r.left == 1 {
		return 1
	}
	if r.left == 0 {
		r.index = (r.index + 1) % len(randomSteps)
		r.left = randomSteps[r.index]
	}
	return 0
}

// randomSteps is the table rNums of the format: org.apache.hadoop.io.compress.bzip2.BZip2Constants.
var randomSteps = [512]uint16{
	619, 720, 127, 481, 931, 816, 813, 233, 566, 247, 985, 724, 205, 454, 863, 491, 741, 242, 949, 214,
	733, 859, 335, 708, 621, 574, 73, 654, 730, 472, 419, 436, 278, 496, 867, 210, 399, 680, 480, 51,
	878, 465, 811, 169, 869, 675, 611, 697, 867, 561, 862, 687, 507, 283, 482, 129, 807, 591, 733, 623,
	150, 238, 59, 379, 684, 877, 625, 169, 643, 105, 170, 607, 520, 932, 727, 476, 693, 425, 174, 647,
	73, 122, 335, 530, 442, 853, 695, 249, 445, 515, 909, 545, 703, 919, 874, 474, 882, 500, 594, 612,
	641, 801, 220, 162, 819, 984, 589, 513, 495, 799, 161, 604, 958, 533, 221, 400, 386, 867, 600, 782,
	382, 596, 414, 171, 516, 375, 682, 485, 911, 276, 98, 553, 163, 354, 666, 933, 424, 341, 533, 870,
	227, 730, 475, 186, 263, 647, 537, 686, 600, 224, 469, 68, 770, 919, 190, 373, 294, 822, 808, 206,
	184, 943, 795, 384, 383, 461, 404, 758, 839, 887, 715, 67, 618, 276, 204, 918, 873, 777, 604, 560,
	951, 160, 578, 722, 79, 804, 96, 409, 713, 940, 652, 934, 970, 447, 318, 353, 859, 672, 112, 785,
	645, 863, 803, 350, 139, 93, 354, 99, 820, 908, 609, 772, 154, 274, 580, 184, 79, 626, 630, 742, 653,
	282, 762, 623, 680, 81, 927, 626, 789, 125, 411, 521, 938, 300, 821, 78, 343, 175, 128, 250, 170,
	774, 972, 275, 999, 639, 495, 78, 352, 126, 857, 956, 358, 619, 580, 124, 737, 594, 701, 612, 669,
	112, 134, 694, 363, 992, 809, 743, 168, 974, 944, 375, 748, 52, 600, 747, 642, 182, 862, 81, 344,
	805, 988, 739, 511, 655, 814, 334, 249, 515, 897, 955, 664, 981, 649, 113, 974, 459, 893, 228, 433,
	837, 553, 268, 926, 240, 102, 654, 459, 51, 686, 754, 806, 760, 493, 403, 415, 394, 687, 700, 946,
	670, 656, 610, 738, 392, 760, 799, 887, 653, 978, 321, 576, 617, 626, 502, 894, 679, 243, 440, 680,
	879, 194, 572, 640, 724, 926, 56, 204, 700, 707, 151, 457, 449, 797, 195, 791, 558, 945, 679, 297,
	59, 87, 824, 713, 663, 412, 693, 342, 606, 134, 108, 571, 364, 631, 212, 174, 643, 304, 329, 343, 97,
	430, 751, 497, 314, 983, 374, 822, 928, 140, 206, 73, 263, 980, 736, 876, 478, 430, 305, 170, 514,
	364, 692, 829, 82, 855, 953, 676, 246, 369, 970, 294, 750, 807, 827, 150, 790, 288, 923, 804, 378,
	215, 828, 592, 281, 565, 555, 710, 82, 896, 831, 547, 261, 524, 462, 293, 465, 502, 56, 661, 821,
	976, 991, 658, 869, 905, 758, 745, 193, 768, 550, 608, 933, 378, 286, 215, 979, 792, 961, 61, 688,
	793, 644, 986, 403, 106, 366, 905, 644, 372, 567, 466, 434, 645, 210, 389, 550, 919, 135, 780, 773,
	635, 389, 707, 100, 626, 958, 165, 504, 920, 176, 193, 713, 857, 265, 203, 50, 668, 108, 645, 990,
	626, 197, 510, 357, 358, 850, 858, 364, 936, 638,
}
