package sequencefile

import (
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Read returns the keys and values of SequenceFiles. The package's documentation describes
// which types K and V can be, and dataset.Text describes how path selects files. Files,
// compressed or not, are split among partitions at sync markers. A key or value of the type
// []byte is valid only until the function that receives it returns.
func Read[K, V any](p *dataset.Plan, path string, options ...dataset.ReadOption) *dataset.Of[dataset.KV[K, V]] {
	return dataset.Files(p, "sequencefile.Read", path, func(in *dataset.FileSplit, emit func(dataset.KV[K, V]) bool) error {
		source, err := storage.From(in.Task).Open(in.Task, in.Split.Path)
		if err != nil {
			return err
		}
		defer source.Close()
		f, err := openFile(source, source.Stat().Size, in.Split.Offset, in.Split.Offset+in.Split.Length, in.Memory)
		if err == nil {
			err = eachRecord(f, emit)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", in.Split.Path, err)
		}
		return nil
	}, options...)
}

// eachRecord calls emit with each record of a file, until emit returns false.
func eachRecord[K, V any](f *file, emit func(dataset.KV[K, V]) bool) error {
	decodeKey, err := decoderOf[K](f.keyClass, "keys")
	if err != nil {
		return err
	}
	decodeValue, err := decoderOf[V](f.valueClass, "values")
	if err != nil {
		return err
	}
	var pair dataset.KV[K, V]
	for {
		key, value, err := f.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = decodeKey(key, &pair.Key)
		}
		if err == nil {
			err = decodeValue(value, &pair.Value)
		}
		if err != nil {
			return err
		}
		if !emit(pair) {
			return nil
		}
	}
}
