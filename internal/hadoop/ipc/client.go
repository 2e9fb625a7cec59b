package ipc

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

type Client struct{}

func NewClient(addresses []string, options Options) *Client { return &Client{} }

func (c *Client) Call(ctx context.Context, method string, request, response proto.Message, options ...CallOption) error {
	return nil
}

func (c *Client) SetToken(token security.Token) {}

func (c *Client) Close() error { return nil }
