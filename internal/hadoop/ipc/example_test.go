package ipc_test

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

func Example() {
	server, err := ipctest.NewServer(ipctest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ipctest.Handle(server, "org.example.GreeterPB", "greet",
		func(_ context.Context, call ipctest.Call, name *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
			if name.GetValue() == "" {
				return nil, &ipctest.Exception{Class: "org.example.NobodyException", Text: "nobody is there"}
			}
			return wrapperspb.String("hello " + name.GetValue() + ", says " + call.User), nil
		})

	client := ipc.NewClient([]string{server.Address()}, ipc.Options{
		Protocol: "org.example.GreeterPB",
		Simple:   true,
		User:     security.UserGroup{Effective: "alice"},
	})
	defer client.Close()
	greeting := &wrapperspb.StringValue{}
	if err := client.Call(context.Background(), "greet", wrapperspb.String("bob"), greeting); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(greeting.GetValue())
	err = client.Call(context.Background(), "greet", wrapperspb.String(""), greeting)
	fmt.Println(errors.Is(err, ipc.ErrorClass("org.example.NobodyException")))
	// Output:
	// hello bob, says alice
	// true
}
