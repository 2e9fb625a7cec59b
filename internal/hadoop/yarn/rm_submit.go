package yarn

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// Submission is an application to submit.
type Submission struct {
	ID              ApplicationID // from [RMClient.NewApplication]
	Name            string
	Queue           string
	Type            string // at most 20 characters
	Tags            []string
	Priority        *int32        // nil for the queue's default
	MaxAttempts     int32         // largest number of attempts of the application; 0 for the cluster's limit
	AttemptValidity time.Duration // how long a failed attempt counts towards MaxAttempts; 0 means for ever
	// Resource is the size of the ApplicationMaster's container. NodeLabel is the label of the
	// container's node; "" for the queue's default.
	Resource    Resource
	NodeLabel   string
	AM          ContainerLaunchContext
	LogPatterns *LogPatterns // which log files to aggregate; nil for all
	// KeepTokens prevents the ResourceManager from cancelling the delegation tokens when the
	// application ends.
	KeepTokens bool
}

// LogPatterns are Java regular expressions that select the log files to aggregate. An empty
// expression is ignored.
type LogPatterns struct {
	Include, Exclude             string // for files aggregated after the application has ended
	RolledInclude, RolledExclude string // for files aggregated while the application runs
}

// SubmitApplication submits an application. Unlike the REST API, it does not ignore resource
// types other than memory and cores (RMWebAppUtil.createAppSubmissionContextResource of Hadoop
// 3). If the response is lost, the call is retried, because submitting the same application
// again succeeds (ClientRMService.submitApplication).
func (c *RMClient) SubmitApplication(ctx context.Context, s Submission) error {
	launch, err := s.AM.proto()
	if err != nil {
		return fmt.Errorf("submit %s: %w", s.ID, err)
	}
	message := &pb.ApplicationSubmissionContext{
		ApplicationId:   s.ID.proto(),
		ApplicationName: &s.Name,
		Queue:           optionalString(s.Queue),
		AmContainerSpec: launch,
		MaxAppAttempts:  &s.MaxAttempts,
		Resource:        s.Resource.proto(),
		ApplicationType: optionalString(s.Type),
		ApplicationTags: s.Tags,
		AmContainerResourceRequests: []*pb.ResourceRequest{
			ResourceRequest{Name: AnyHost, Resource: s.Resource, Containers: 1, RelaxLocality: true, NodeLabel: s.NodeLabel}.proto(),
		},
	}
	if s.KeepTokens {
		message.CancelTokensWhenComplete = proto.Bool(false)
	}
	if s.Priority != nil {
		message.Priority = &pb.Priority{Priority: s.Priority}
	}
	if s.AttemptValidity > 0 {
		message.AttemptFailuresValidityInterval = proto.Int64(s.AttemptValidity.Milliseconds())
	}
	if p := s.LogPatterns; p != nil {
		message.LogAggregationContext = &pb.LogAggregationContext{
			IncludePattern: optionalString(p.Include), ExcludePattern: optionalString(p.Exclude),
			RolledLogsIncludePattern: optionalString(p.RolledInclude), RolledLogsExcludePattern: optionalString(p.RolledExclude),
		}
	}
	return c.rpc.Call(ctx, "submitApplication", &pb.SubmitApplicationRequest{Context: message}, &pb.SubmitApplicationResponse{}, ipc.Idempotent())
}
