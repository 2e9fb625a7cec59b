package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
)

// workerSource reads the logs of a process where its worker shows them.
type workerSource logPlace

func (w workerSource) list(ctx context.Context) ([]sourceFile, error) {
	listed, err := logFiles(ctx, logPlace(w))
	if err != nil {
		return nil, err
	}
	files := make([]sourceFile, len(listed))
	for i, file := range listed {
		files[i] = sourceFile{file.Name, file.Size, file.Modified}
	}
	return files, nil
}

func (w workerSource) open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error) {
	if size <= from {
		return io.NopCloser(strings.NewReader("")), nil
	}
	content, err := getFrom(ctx, logPlace(w).file(name), from)
	var refusal *pageError
	if errors.As(err, &refusal) && (refusal.code == http.StatusRequestedRangeNotSatisfiable || refusal.code == http.StatusNotFound) {
		return nil, errShorter // it was rolled after it was listed
	}
	return content, err
}
