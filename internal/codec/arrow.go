package codec

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// encodeRecords encodes record batches, which must have the same schema, as an Arrow IPC
// stream. It returns no bytes if records is empty, because the schema is then unknown.
func encodeRecords(records []arrow.RecordBatch) ([]byte, error) {
	if len(records) == 0 {
		return nil, nil
	}
	var stream bytes.Buffer
	writer := ipc.NewWriter(&stream, ipc.WithSchema(records[0].Schema()))
	for _, record := range records {
		if err := writer.Write(record); err != nil {
			return nil, errors.Join(fmt.Errorf("encode arrow.RecordBatch: %w", err), writer.Close())
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("encode arrow.RecordBatch: %w", err)
	}
	return stream.Bytes(), nil
}

func decodeRecords(data []byte) (records []arrow.RecordBatch, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	// The Arrow reader panics on some malformed streams.
	defer func() {
		if r := recover(); r != nil {
			records, err = nil, fmt.Errorf("decode arrow.RecordBatch: %v", r)
		}
	}()
	reader, err := ipc.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decode arrow.RecordBatch: %w", err)
	}
	defer reader.Release()
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode arrow.RecordBatch: %w", err)
		}
		record.Retain()
		records = append(records, record)
	}
}
