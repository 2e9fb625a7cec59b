package stream

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

const (
	packetSize = 4096
	readBlock  = 0x51 // READ_BLOCK of Hadoop's class Op, the code of the operation that reads a block
)

// fakeDatanode stores blocks in memory, and implements reads and writes of the data transfer
// protocol. Its blocks have no checksums.
type fakeDatanode struct {
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	blocks map[uint64][]byte
	conns  map[net.Conn]bool
	opened int
	// cutAfter is the number of bytes of a block after which it closes a connection; negative
	// means never.
	cutAfter int
	// hang makes the datanode accept connections without replying.
	hang bool
}

func newDatanode(t *testing.T) *fakeDatanode {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	d := &fakeDatanode{listener: listener, blocks: map[uint64][]byte{}, conns: map[net.Conn]bool{}, cutAfter: -1}
	d.running.Go(d.accept)
	t.Cleanup(d.stop)
	return d
}

// stop makes the datanode refuse connections, and closes open connections.
func (d *fakeDatanode) stop() {
	_ = d.listener.Close()
	d.mu.Lock()
	for c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.running.Wait()
}

func (d *fakeDatanode) set(change func(*fakeDatanode)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *fakeDatanode) connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

// info returns the datanode in the form in which a NameNode returns it.
func (d *fakeDatanode) info() *pb.Datanode {
	_, port, _ := net.SplitHostPort(d.listener.Addr().String())
	n, _ := strconv.ParseUint(port, 10, 32)
	id := &pb.DatanodeID{
		IpAddress: proto.String("127.0.0.1"), HostName: proto.String("datanode"), Uuid: proto.String(port), TransferPort: proto.Uint32(uint32(n)),
	}
	// Ports of the web server and the IPC server, which are required fields in colinmarc/hdfs.
	setUnknown(id, appendUint(appendUint(nil, 5, 1), 6, 1))
	return &pb.Datanode{Id: id}
}

func (d *fakeDatanode) accept() {
	for {
		c, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.mu.Lock()
		d.conns[c] = true
		d.opened++
		d.mu.Unlock()
		d.running.Go(func() {
			_ = d.serve(c)
			_ = c.Close()
		})
	}
}

func (d *fakeDatanode) serve(c net.Conn) error {
	r := bufio.NewReader(c)
	var preamble [3]byte // version and operation
	if _, err := io.ReadFull(r, preamble[:]); err != nil {
		return err
	}
	d.mu.Lock()
	hang, cutAfter := d.hang, d.cutAfter
	d.mu.Unlock()
	if hang {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	length, err := binary.ReadUvarint(r)
	if err != nil {
		return err
	}
	operation := make([]byte, length)
	if _, err := io.ReadFull(r, operation); err != nil {
		return err
	}
	block := &pb.Block{} // in OpReadBlockProto and OpWriteBlockProto: header.baseHeader.block
	if err := proto.Unmarshal(field(field(field(operation, 1), 1), 1), block); err != nil {
		return err
	}
	if preamble[2] == readBlock {
		return d.send(c, block.GetBlockId(), uint(number(operation, 2)), cutAfter)
	}
	return d.receive(c, r, block.GetBlockId(), cutAfter)
}

// send handles a request to read a block.
func (d *fakeDatanode) send(c net.Conn, id uint64, offset uint, cutAfter int) error {
	d.mu.Lock()
	data := d.blocks[id][offset:]
	d.mu.Unlock()
	checksum := appendUint(appendUint(nil, 1, 0), 2, 512) // no checksums
	info := appendUint(appendBytes(nil, 1, checksum), 2, uint64(offset))
	response := appendBytes(appendUint(nil, 1, 0), 4, info)
	if _, err := c.Write(protowire.AppendBytes(nil, response)); err != nil {
		return err
	}
	sent := 0
	for {
		if cutAfter >= 0 && sent >= cutAfter {
			return nil
		}
		chunk := data[:min(len(data), packetSize)]
		data = data[len(chunk):]
		if _, err := c.Write(packet(uint64(sent), chunk, len(chunk) == 0)); err != nil || len(chunk) == 0 {
			return err
		}
		sent += len(chunk)
	}
}

// receive handles a request to write a block.
func (d *fakeDatanode) receive(c net.Conn, r io.Reader, id uint64, cutAfter int) error {
	if _, err := c.Write(protowire.AppendBytes(nil, appendBytes(appendUint(nil, 1, 0), 2, nil))); err != nil {
		return err
	}
	received := 0
	for {
		var lengths [6]byte
		if _, err := io.ReadFull(r, lengths[:]); err != nil {
			return err
		}
		header := make([]byte, binary.BigEndian.Uint16(lengths[4:]))
		if _, err := io.ReadFull(r, header); err != nil {
			return err
		}
		body := make([]byte, binary.BigEndian.Uint32(lengths[:])-4)
		if _, err := io.ReadFull(r, body); err != nil {
			return err
		}
		data := body[len(body)-int(number(header, 4)):]
		d.mu.Lock()
		d.blocks[id] = append(d.blocks[id], data...)
		d.mu.Unlock()
		if received += len(data); cutAfter >= 0 && received >= cutAfter {
			return nil
		}
		ack := appendUint(appendUint(nil, 1, protowire.EncodeZigZag(int64(number(header, 2)))), 2, 0)
		if _, err := c.Write(protowire.AppendBytes(nil, ack)); err != nil {
			return err
		}
		if number(header, 3) == 1 {
			return nil
		}
	}
}

// packet encodes a packet of a block for a reader.
func packet(offset uint64, data []byte, last bool) []byte {
	header := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), offset)
	header = protowire.AppendFixed64(protowire.AppendTag(header, 2, protowire.Fixed64Type), 1)
	header = appendUint(header, 3, protowire.EncodeBool(last))
	header = protowire.AppendFixed32(protowire.AppendTag(header, 4, protowire.Fixed32Type), uint32(len(data)))
	p := binary.BigEndian.AppendUint32(nil, uint32(4+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(header)))
	return append(append(p, header...), data...)
}

func appendUint(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func appendBytes(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// rawField returns the encoded value of a field; nil if it is missing.
func rawField(message []byte, want protowire.Number) (value []byte, t protowire.Type) {
	for len(message) > 0 {
		n, t, size := protowire.ConsumeTag(message)
		length := protowire.ConsumeFieldValue(n, t, message[size:])
		if n == want {
			return message[size : size+length], t
		}
		message = message[size+length:]
	}
	return nil, 0
}

// field returns the content of a message or bytes field; nil if it is missing.
func field(message []byte, n protowire.Number) []byte {
	value, _ := rawField(message, n)
	content, _ := protowire.ConsumeBytes(value)
	return content
}

// number returns the value of a number field; 0 if it is missing.
func number(message []byte, n protowire.Number) uint64 {
	value, t := rawField(message, n)
	switch t {
	case protowire.Fixed32Type:
		v, _ := protowire.ConsumeFixed32(value)
		return uint64(v)
	case protowire.Fixed64Type:
		v, _ := protowire.ConsumeFixed64(value)
		return v
	}
	v, _ := protowire.ConsumeVarint(value)
	return v
}

func setUnknown(m proto.Message, b []byte) { m.ProtoReflect().SetUnknown(b) }
