package dataset_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/storage"
)

// words is a format of files of numbers, with four bytes each.
var words = dataset.RegisterFormat(dataset.FormatDescription{
	Name: "words of a test",
	Suffix: func(compression string) (string, error) {
		if compression != "" {
			return "", errors.New("words have no compression")
		}
		return ".words", nil
	},
	NewEncoder: func(file io.Writer, element reflect.Type, options dataset.EncodeOptions) (dataset.Encoder, error) {
		if element != reflect.TypeFor[uint32]() {
			return nil, fmt.Errorf("words cannot have the type %v", element)
		}
		return &wordEncoder{file: file, end: options.Options["end"]}, nil
	},
})

type wordEncoder struct {
	file io.Writer
	end  string
}

func (e *wordEncoder) Write(element any) error {
	number, _ := element.(*uint32)
	return binary.Write(e.file, binary.BigEndian, number)
}

func (e *wordEncoder) Close() error {
	_, err := io.WriteString(e.file, e.end)
	return err
}

var (
	numbered = dataset.Define("numbers of words", func(p *dataset.Plan, n int64) *dataset.Of[uint32] {
		return dataset.Map(dataset.Range(p, 0, n, 3), func(i int64) uint32 { return uint32(i) })
	})
	thirds = dataset.Define("thirds", func(p *dataset.Plan, n int64) *dataset.Of[int64] { return dataset.Range(p, 0, n, 3) })

	readWords = dataset.Define("read words", func(p *dataset.Plan, path string) *dataset.Of[uint32] {
		return dataset.Files(p, "Words", path, func(in *dataset.FileSplit, emit func(uint32) bool) error {
			file, err := storage.From(in.Task).Open(in.Task, in.Split.Path)
			if err != nil {
				return err
			}
			defer file.Close()
			for at := (in.Split.Offset + 3) / 4 * 4; at < in.Split.Offset+in.Split.Length; at += 4 {
				var word [4]byte
				if _, err := file.ReadAt(word[:], at); err != nil {
					return dataset.Malformed(fmt.Errorf("%s: %w", in.Split.Path, err))
				}
				if !emit(binary.BigEndian.Uint32(word[:])) {
					return nil
				}
			}
			return nil
		}, dataset.SplitSize(10))
	})
)

func TestSaveInARegisteredFormat(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, numbered.With(session, 20).Save(ctx, out, words))
		for part := range 3 {
			require.FileExists(t, filepath.Join(out, fmt.Sprintf("part-%05d.words", part)))
		}
		got, err := readWords.With(session, out).Collect(ctx)
		require.NoError(t, err)
		var want []uint32
		for i := range uint32(20) {
			want = append(want, i)
		}
		require.Equal(t, want, got)

		few, err := readWords.With(session, out).Take(ctx, 2)
		require.NoError(t, err)
		require.Equal(t, want[:2], few)
	})
}

func TestEncodersGetFormatOptions(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, numbered.With(session, 1).Save(ctx, out, words, dataset.FormatOption("end", "x")))
		parts, err := filepath.Glob(filepath.Join(out, "part-*"))
		require.NoError(t, err)
		for _, part := range parts {
			content, err := os.ReadFile(part)
			require.NoError(t, err)
			require.Equal(t, byte('x'), content[len(content)-1])
		}
		_, err = readWords.With(session, out).Collect(ctx)
		require.ErrorContains(t, err, ".words: ", "the error names a file, whichever task failed first")
	})
}

func TestSaveReportsFormatErrorsBeforeTheJobRuns(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for message, save := range map[string]func() error{
			"words cannot have the type int64": func() error {
				return thirds.With(session, 3).Save(ctx, out, words)
			},
			"words have no compression": func() error {
				return numbered.With(session, 3).Save(ctx, out, words, dataset.Compress("gzip"))
			},
			"the format is the zero value": func() error {
				return numbered.With(session, 3).Save(ctx, out, dataset.Format{})
			},
			"the format has none of the options": func() error {
				return numbered.With(session, 3).Save(ctx, out, dataset.AsJSON, dataset.FormatOption("end", "x"))
			},
		} {
			require.ErrorContains(t, save(), message)
			_, err := os.Stat(out)
			require.ErrorIs(t, err, fs.ErrNotExist)
		}
	})
}
