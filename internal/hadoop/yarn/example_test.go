package yarn_test

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// An ApplicationMaster registers and sends a heartbeat.
func ExampleAMClient() {
	token := security.Token{Identifier: []byte("attempt 1"), Password: []byte("secret"), Kind: security.KindAMRM}
	// A simulated ResourceManager.
	rm, err := ipctest.NewServer(ipctest.Options{Password: func([]byte) ([]byte, error) { return token.Password, nil }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rm.Close()
	ipctest.Handle(rm, yarn.ApplicationMasterProtocol, "registerApplicationMaster",
		func(context.Context, ipctest.Call, *pb.RegisterApplicationMasterRequest) (*pb.RegisterApplicationMasterResponse, error) {
			return &pb.RegisterApplicationMasterResponse{Queue: proto.String("root.default")}, nil
		})
	ipctest.Handle(rm, yarn.ApplicationMasterProtocol, "allocate",
		func(_ context.Context, _ ipctest.Call, request *pb.AllocateRequest) (*pb.AllocateResponse, error) {
			return &pb.AllocateResponse{ResponseId: proto.Int32(request.GetResponseId() + 1)}, nil
		})

	ctx := context.Background()
	am := yarn.NewAMClient([]string{rm.Address()}, yarn.ClientOptions{Token: token})
	defer am.Close()
	registered, err := am.Register(ctx, yarn.RegisterRequest{Host: "node1", RPCPort: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := am.Allocate(ctx, yarn.AllocateRequest{Asks: []yarn.ResourceRequest{{
		Priority: 1, Name: yarn.AnyHost, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}, Containers: 2, RelaxLocality: true,
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registered.Queue, response.ResponseID)
	// Output: root.default 1
}
