package main

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/driver"
)

// checkedResult is a task result of any size, and its checksum.
type checkedResult struct {
	Content []byte
	Sum     uint32
}

var produce = bobbin.Func("produce", func(task *bobbin.Task, mebibytes int) (checkedResult, error) {
	content := make([]byte, mebibytes*mebibyte)
	random := rand.NewChaCha8([32]byte{byte(task.Index())})
	if _, err := random.Read(content); err != nil {
		return checkedResult{}, err
	}
	return checkedResult{content, crc32.ChecksumIEEE(content)}, nil
})

// check returns an error if the result's size or its checksum is wrong.
func (p checkedResult) check(mebibytes int) error {
	if len(p.Content) != mebibytes*mebibyte || crc32.ChecksumIEEE(p.Content) != p.Sum {
		return fmt.Errorf("a result of %d bytes is not the one of %d MiB that its task returned", len(p.Content), mebibytes)
	}
	return nil
}

// results fetches results of the given total size with Run, and then again with Stream.
func results(ctx context.Context, mebibytes int) error {
	const each = 20
	return inSession(ctx, func(session *bobbin.Session) error {
		inputs := make([]int, mebibytes/each)
		for i := range inputs {
			inputs[i] = each
		}
		all, err := produce.Run(ctx, session, inputs)
		if err != nil {
			return err
		}
		for _, one := range all {
			if err := one.check(each); err != nil {
				return err
			}
		}
		fmt.Println("together:", len(all))
		all = nil
		count := 0
		for result, err := range produce.Stream(ctx, session, inputs) {
			if err != nil {
				return err
			}
			if err := result.Value.check(each); err != nil {
				return err
			}
			count++
		}
		fmt.Println("one after the other:", count)
		return nil
	})
}

// tooManyResults runs a job whose results exceed driver.maxResultSize, and then a small job
// that must succeed.
func tooManyResults(ctx context.Context, mebibytes int) error {
	return inSession(ctx, func(session *bobbin.Session) error {
		inputs := make([]int, mebibytes)
		for i := range inputs {
			inputs[i] = 1
		}
		_, err := produce.Run(ctx, session, inputs)
		var tooLarge *driver.ResultSizeError
		if !errors.As(err, &tooLarge) {
			return fmt.Errorf("want a *driver.ResultSizeError, got %w", err)
		}
		fmt.Println("refused:", err)
		doubled, err := double.Run(ctx, session, indices(100))
		if err != nil {
			return err
		}
		fmt.Println("then:", len(doubled))
		return nil
	})
}
