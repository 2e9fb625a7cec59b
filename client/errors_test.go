package client

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func TestErrorsThatDoctorExplains(t *testing.T) {
	call := func(cause error) error { return RefusedError(fmt.Errorf("listing: %w", &ipc.CallError{Err: cause})) }
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no ResourceManager":            {RefusedError(&yarnrest.UnavailableError{Service: "ResourceManager"}), true},
		"no NodeManager":                {&yarnrest.UnavailableError{Service: "NodeManager"}, false},
		"interrupted":                   {&yarnrest.UnavailableError{Service: "ResourceManager", Context: context.Canceled}, false},
		"a connection":                  {call(&ipc.ConnectionError{Err: errors.New("refused")}), true},
		"an interrupted call":           {call(context.Canceled), false},
		"another server":                {call(errors.New("the server says that it is nn/b, and dfs.namenode.kerberos.principal is nn/a")), true},
		"a ticket that is not accepted": {call(ipc.NewRemoteError("javax.security.sasl.SaslException", "GSS initiate failed")), true},
		"no impersonation":              {call(ipc.NewRemoteError("org.apache.hadoop.security.authorize.AuthorizationException", "User: a is not allowed to impersonate b")), true},
		"a file of others":              {call(ipc.NewRemoteError(string(ipc.AccessControlException), "Permission denied")), false},
		"an unknown application":        {call(ipc.NewRemoteError("org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException", "no")), false},
		"a program":                     {FailedError(errors.New("it failed")), false},
	} {
		require.Equal(t, test.want, MayDoctorExplain(test.err), name)
	}
}
