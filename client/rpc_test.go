package client

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc/ipctest"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

func TestResourceTypesOfTheMasterAreSubmittedByRPC(t *testing.T) {
	server, err := ipctest.NewServer(ipctest.Options{})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	requests := make(chan *pb.SubmitApplicationRequest, 1)
	ipctest.Handle(server, yarn.ApplicationClientProtocol, "submitApplication",
		func(_ context.Context, _ ipctest.Call, request *pb.SubmitApplicationRequest) (*pb.SubmitApplicationResponse, error) {
			if request.GetContext().GetMaxAppAttempts() == 9 {
				return nil, &ipctest.Exception{Class: "org.apache.hadoop.yarn.exceptions.YarnException", Text: "too many attempts"}
			}
			requests <- request
			return &pb.SubmitApplicationResponse{}, nil
		})
	f := newFakeYARN(t)
	f.reports = []map[string]any{succeeded()}
	b := newBench(t, f, map[string]string{"driver.resource.gpu.amount": "1"})
	b.cluster = f.cluster(map[string]string{"yarn.resourcemanager.address": server.Address()})
	_, err = b.cluster.Submit(context.Background(), b.job)
	require.NoError(t, err)
	require.Nil(t, f.submitted, "not by REST")
	request := (<-requests).GetContext()
	require.Equal(t, "yarn.io/gpu", request.GetResource().GetValues()[0].GetKey())
	credentials, err := security.ReadCredentials(bytes.NewReader(request.GetAmContainerSpec().GetTokens()))
	require.NoError(t, err)
	_, ok := credentials.Secret(launch.SecretSpec)
	require.True(t, ok)

	b.job.Settings, err = b.job.Settings.With(map[string]string{"yarn.maxAppAttempts": "9"})
	require.NoError(t, err)
	_, err = b.cluster.Submit(context.Background(), b.job)
	require.ErrorContains(t, err, "the ResourceManager refuses the application: too many attempts")
	require.Equal(t, ExitCluster, ExitCode(err))
}

func TestRPCSubmissionHasAllFieldsOfREST(t *testing.T) {
	priority := 3
	got, err := rpcSubmission(&yarnrest.SubmissionContext{
		ID: fakeID, Name: "n", Queue: "q", Type: "BOBBIN", Tags: []string{"t"}, Priority: &priority, MaxAttempts: 2,
		AttemptFailuresValidityInterval: time.Hour, AMNodeLabelExpression: "fast",
		Resource:       yarnrest.Resource{MemoryMB: 5, VCores: 2, Types: []yarnrest.ResourceType{{Name: "disk", Value: 7}}},
		LogAggregation: &yarnrest.LogAggregation{Include: "a", Exclude: "b", RolledInclude: "c", RolledExclude: "d"},
		AM: yarnrest.ContainerSpec{
			Environment: map[string]string{"A": "1"}, Commands: []string{"./app"}, ACLs: map[string]string{yarnrest.ACLView: "ann", yarnrest.ACLModify: "*"},
			LocalResources: map[string]yarnrest.LocalResource{
				"app":  {URL: "hdfs://x/app", Type: yarnrest.ResourceFile, Visibility: yarnrest.VisibilityPrivate, Size: 1, Timestamp: 2},
				"data": {URL: "hdfs://x/data", Type: yarnrest.ResourceArchive, Visibility: yarnrest.VisibilityPublic},
			},
		},
	})
	require.NoError(t, err)
	want := int32(3)
	id, err := yarn.ParseApplicationID(fakeID)
	require.NoError(t, err)
	require.NotEmpty(t, got.AM.Tokens)
	got.AM.Tokens = nil
	require.Equal(t, yarn.Submission{
		ID: id, Name: "n", Queue: "q", Type: "BOBBIN", Tags: []string{"t"}, Priority: &want, MaxAttempts: 2, AttemptValidity: time.Hour, NodeLabel: "fast",
		Resource:    yarn.Resource{MemoryMB: 5, VCores: 2, Others: map[string]int64{"disk": 7}},
		LogPatterns: &yarn.LogPatterns{Include: "a", Exclude: "b", RolledInclude: "c", RolledExclude: "d"},
		AM: yarn.ContainerLaunchContext{
			Env: map[string]string{"A": "1"}, Commands: []string{"./app"}, ACLs: map[yarn.Access]string{yarn.ViewAccess: "ann", yarn.ModifyAccess: "*"},
			LocalResources: map[string]yarn.LocalResource{
				"app":  {URL: "hdfs://x/app", Type: yarn.FileResource, Visibility: yarn.PrivateVisibility, Size: 1, Timestamp: 2},
				"data": {URL: "hdfs://x/data", Type: yarn.ArchiveResource, Visibility: yarn.PublicVisibility},
			},
		},
	}, got)
}
