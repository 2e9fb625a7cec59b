package client

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// submitApplication submits an application by REST. It uses an RPC if the cluster requires
// Kerberos, or if the ApplicationMaster's container needs resources other than memory and vcores,
// because the REST API ignores these.
func (c *Cluster) submitApplication(ctx context.Context, submitted *yarnrest.SubmissionContext) error {
	if !c.identity.Secure() && (len(submitted.Resource.Types) == 0 || submitted.UnmanagedAM) {
		return c.rest.SubmitApplication(ctx, submitted)
	}
	submission, err := rpcSubmission(submitted)
	if err != nil {
		return err
	}
	manager, err := c.manager()
	if err != nil {
		return err
	}
	return manager.SubmitApplication(ctx, submission)
}

// refusalMessage returns the ResourceManager's message if err is its refusal of an application; ""
// for other errors.
func refusalMessage(err error) string {
	var byREST *yarnrest.RemoteError
	var byRPC *ipc.RemoteError
	switch {
	case errors.As(err, &byREST):
		return byREST.Message
	case errors.As(err, &byRPC):
		return byRPC.Message
	}
	return ""
}

// rpcSubmission converts a submission context of the REST API to the type of the RPC.
func rpcSubmission(s *yarnrest.SubmissionContext) (yarn.Submission, error) {
	id, err := yarn.ParseApplicationID(s.ID)
	if err != nil {
		return yarn.Submission{}, err
	}
	credentials := &security.Credentials{}
	for alias, secret := range s.AM.Secrets {
		credentials.SetSecret(alias, secret)
	}
	for alias, encoded := range s.AM.Tokens {
		token, err := security.DecodeTokenURL(encoded)
		if err != nil {
			return yarn.Submission{}, err
		}
		credentials.SetToken(alias, token)
	}
	tokens, err := credentials.Encode(security.Writable)
	if err != nil {
		return yarn.Submission{}, err
	}
	submission := yarn.Submission{
		ID: id, Name: s.Name, Queue: s.Queue, Type: s.Type, Tags: s.Tags, MaxAttempts: int32(s.MaxAttempts),
		AttemptValidity: s.AttemptFailuresValidityInterval, NodeLabel: s.AMNodeLabelExpression,
		Resource: yarn.Resource{MemoryMB: s.Resource.MemoryMB, VCores: int32(s.Resource.VCores), Others: map[string]int64{}},
		AM: yarn.ContainerLaunchContext{
			LocalResources: map[string]yarn.LocalResource{}, Env: s.AM.Environment, Commands: s.AM.Commands, Tokens: tokens, ACLs: map[yarn.Access]string{},
		},
	}
	// Keep tokens that were not obtained for this application, because other applications may use
	// them.
	submission.KeepTokens = s.KeepTokens
	for _, kind := range s.Resource.Types {
		submission.Resource.Others[kind.Name] = kind.Value
	}
	if s.Priority != nil {
		priority := int32(*s.Priority)
		submission.Priority = &priority
	}
	for name, resource := range s.AM.LocalResources {
		submission.AM.LocalResources[name] = yarn.LocalResource{
			URL: resource.URL, Size: resource.Size, Timestamp: resource.Timestamp,
			Type: resourceTypes[resource.Type], Visibility: visibilities[resource.Visibility],
		}
	}
	for access, list := range s.AM.ACLs {
		submission.AM.ACLs[accesses[access]] = list
	}
	if l := s.LogAggregation; l != nil {
		submission.LogPatterns = &yarn.LogPatterns{Include: l.Include, Exclude: l.Exclude, RolledInclude: l.RolledInclude, RolledExclude: l.RolledExclude}
	}
	return submission, nil
}

var (
	resourceTypes = map[yarnrest.LocalResourceType]yarn.ResourceType{
		yarnrest.ResourceFile: yarn.FileResource, yarnrest.ResourceArchive: yarn.ArchiveResource,
	}
	visibilities = map[yarnrest.LocalResourceVisibility]yarn.Visibility{
		yarnrest.VisibilityPublic: yarn.PublicVisibility, yarnrest.VisibilityPrivate: yarn.PrivateVisibility,
		yarnrest.VisibilityApplication: yarn.ApplicationVisibility,
	}
	accesses = map[string]yarn.Access{yarnrest.ACLView: yarn.ViewAccess, yarnrest.ACLModify: yarn.ModifyAccess}
)
