package stream

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/storage/internal/namenode/pb"
)

// pipelineAttempts is the largest number of requests to the NameNode for one block. Another
// request follows if a datanode of the block does not accept connections (Hadoop's
// dfs.client.block.write.retries is 3).
const pipelineAttempts = 5

// pipeline chooses the datanodes of a new file's blocks. For ten minutes after a datanode has
// died, the NameNode still assigns blocks to it, and colinmarc/hdfs cannot recover when it sends
// a block to a dead datanode. Therefore pipeline first connects to each datanode of a block.
// Datanodes that do not accept the connection are excluded from all further blocks of the file.
type pipeline struct {
	session    *session
	byHostName bool // whether to connect to datanodes by their host names, not their IP addresses
	dead       []*pb.Datanode
}

// addBlock handles an addBlock call of colinmarc/hdfs, and returns the encoded response.
func (p *pipeline) addBlock(encoded []byte) ([]byte, error) {
	request := &pb.AddBlockRequest{}
	if err := proto.Unmarshal(encoded, request); err != nil {
		return nil, err
	}
	var lastDead error
	for range pipelineAttempts {
		request.Excluded = p.dead
		block, answer, err := p.requestBlock(request)
		if err != nil {
			if lastDead != nil {
				err = fmt.Errorf("%w (left out were those that did not answer: %w)", err, lastDead)
			}
			return nil, err
		}
		dead, err := p.connectAll(block.Datanodes)
		if len(dead) == 0 {
			return answer, err
		}
		lastDead = err
		p.dead = append(p.dead, dead...)
		p.session.options.Logger.Info("leaving a datanode out", "path", request.GetPath(), "error", err)
		abandon := &pb.AbandonBlockRequest{Block: block.Block, Path: request.Path, ClientName: request.ClientName, FileId: request.FileId}
		if err := p.session.options.NameNode.AbandonBlock(p.session.ctx, abandon); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("no block in %d had datanodes that all answer: %w", pipelineAttempts, lastDead)
}

// requestBlock requests a block from the NameNode, and returns the block and the encoded
// response that contains it.
func (p *pipeline) requestBlock(request *pb.AddBlockRequest) (*pb.LocatedBlock, []byte, error) {
	encoded, err := proto.Marshal(request)
	if err != nil {
		return nil, nil, err
	}
	answer, err := p.session.forward("addBlock", encoded)
	if err != nil {
		return nil, nil, err
	}
	response := &pb.AddBlockResponse{}
	if err := proto.Unmarshal(answer, response); err != nil {
		return nil, nil, err
	}
	return response.Block, answer, nil
}

// connectAll connects to all datanodes of a block at the same time. It returns the datanodes to
// which it could not connect, and an error with the reasons. If it could connect to all, it
// stores the connection to the first datanode for dialDatanode, because the block is sent to
// that datanode. It closes the other connections.
func (p *pipeline) connectAll(datanodes []*pb.Datanode) (dead []*pb.Datanode, err error) {
	ctx, cancel := context.WithTimeout(p.session.ctx, connectTimeout)
	defer cancel()
	conns := make([]net.Conn, len(datanodes))
	errs := make([]error, len(datanodes))
	var trying sync.WaitGroup
	for i, d := range datanodes {
		trying.Go(func() { conns[i], errs[i] = p.session.options.Dial(ctx, "tcp", p.address(d)) })
	}
	trying.Wait()
	for i, dialErr := range errs {
		if dialErr == nil {
			continue
		}
		dead = append(dead, datanodes[i])
		if err == nil {
			err = dialErr
		} else {
			err = fmt.Errorf("%w; %w", err, dialErr)
		}
	}
	for i, c := range conns {
		if i == 0 && err == nil {
			p.session.storeConn(p.address(datanodes[0]), c)
		} else if c != nil {
			_ = c.Close()
		}
	}
	if p.session.ctx.Err() != nil {
		return nil, p.session.ctx.Err()
	}
	return dead, err
}

// address returns the address that colinmarc/hdfs will use to connect to the datanode.
func (p *pipeline) address(d *pb.Datanode) string {
	host := d.Id.GetIpAddress()
	if p.byHostName {
		host = d.Id.GetHostName()
	}
	return fmt.Sprintf("%s:%d", host, d.Id.GetTransferPort())
}

// storeConn stores the connection c until dialDatanode uses it.
func (s *session) storeConn(address string, c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.preparedConns[address]; old != nil {
		_ = old.Close()
	}
	if s.ctx.Err() != nil {
		_ = c.Close()
		return
	}
	s.preparedConns[address] = c
}
