// Package inputs generates inputs for the benchmark bench/data. The same seed generates the
// same bytes.
package inputs

import (
	"bufio"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// Vocabulary is the number of different words in texts.
const Vocabulary = 5_000_000

// lineLength is the minimum length of a line of text in bytes.
const lineLength = 96

// words draws random words. The word of rank k has a probability proportional to 1/k (Zipf's
// law).
type words struct{ *rand.Rand }

// append appends a random word to line. The word is its rank in base 70, with two letters for
// each digit, so that frequent words are short.
func (w words) append(line []byte) []byte {
	const consonants, vowels = "bdfghjklmnprst", "aeiou"
	rank := int(math.Exp(w.Float64() * math.Log(Vocabulary)))
	for digit := rank; digit > 0; digit /= len(consonants) * len(vowels) {
		line = append(line, consonants[digit/len(vowels)%len(consonants)], vowels[digit%len(vowels)])
	}
	return line
}

// source returns the source of random numbers for one file.
func source(seed, file uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, file)) }

// write writes lines until at least size bytes are written. line appends the i-th line to
// buffer.
func write(w io.Writer, size int64, line func(i int64, buffer []byte) []byte) error {
	buffered := bufio.NewWriterSize(w, 1<<20)
	var buffer []byte
	for i, written := int64(0), int64(0); written < size; i++ {
		buffer = append(line(i, buffer[:0]), '\n')
		written += int64(len(buffer))
		if _, err := buffered.Write(buffer); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// Text writes about size bytes of text: lines of about 100 bytes, with words separated by
// spaces. Different values of file generate different texts.
func Text(w io.Writer, seed, file uint64, size int64) error {
	words := words{source(seed, file)}
	return write(w, size, func(_ int64, line []byte) []byte {
		for len(line) < lineLength {
			line = append(words.append(line), ' ')
		}
		return line[:len(line)-1]
	})
}

// rowLength is the average length of a row of a table, in bytes.
const rowLength = 62

// Keys returns the number of different keys of a table of the given size.
func Keys(size int64) int64 { return max(1, size/rowLength) }

// key appends the key with number n to line: 16 hexadecimal digits that look random.
func key(line []byte, n int64) []byte {
	x := uint64(n+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
	x ^= x >> 29
	const digits = "0123456789abcdef"
	for shift := 60; shift >= 0; shift -= 4 {
		line = append(line, digits[x>>shift&15])
	}
	return line
}

// value appends a random value of about 44 bytes to line.
func (w words) value(line []byte) []byte {
	for end := len(line) + 40; len(line) < end; {
		line = append(w.append(line), ' ')
	}
	return line[:len(line)-1]
}

// Right writes one of several files of the right table of a join: about size bytes of lines
// key<TAB>value. The keys have the numbers file, file+files, file+2*files and so on. One key in
// 20 has a second row.
func Right(w io.Writer, seed, file, files uint64, size int64) error {
	words := words{source(seed, file)}
	next, again := int64(file), false
	return write(w, size, func(_ int64, line []byte) []byte {
		line = words.value(append(key(line, next), '\t'))
		if again = !again && words.IntN(20) == 0; !again {
			next += int64(files)
		}
		return line
	})
}

// Left writes a file of the left table of a join: about size bytes of lines key<TAB>value. The
// keys' numbers are random and less than keys.
func Left(w io.Writer, seed, file uint64, keys, size int64) error {
	words := words{source(seed, file)}
	return write(w, size, func(_ int64, line []byte) []byte {
		return words.value(append(key(line, words.Int64N(keys)), '\t'))
	})
}

// Links writes a file of the links of a graph: a line "from to" for each link. Each page is
// equally likely to be the source of a link. The number of links to a page follows Zipf's law.
func Links(w io.Writer, seed, file uint64, pages, links int64) error {
	random := source(seed, file)
	buffered := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for range links {
		to := int64(math.Exp(random.Float64() * math.Log(float64(pages))))
		line = strconv.AppendInt(line[:0], random.Int64N(pages), 10)
		line = append(strconv.AppendInt(append(line, ' '), to, 10), '\n')
		if _, err := buffered.Write(line); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
