package yarnrest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"
)

// NewApplication has a new application's id, and the largest container that the cluster
// allows.
type NewApplication struct {
	ID                string
	MaximumAllocation Resource
}

// NewApplication requests a new application id.
func (c *Client) NewApplication(ctx context.Context) (*NewApplication, error) {
	a, err := c.call(ctx, restRequest{method: http.MethodPost, path: appsPath + "/new-application"})
	if err != nil {
		return nil, err
	}
	root, err := a.json()
	if err != nil {
		return nil, err
	}
	id := root.at("application-id").text()
	if id == "" {
		return nil, a.missingPart("application-id")
	}
	return &NewApplication{ID: id, MaximumAllocation: decodeResource(root.at("maximum-resource-capability"))}, nil
}

// SubmissionContext describes an application and how to start its
// ApplicationMaster. It contains only the fields that bobbin uses.
type SubmissionContext struct {
	ID       string // the id that NewApplication returned
	Name     string
	Queue    string // "" for the cluster's default
	Type     string // at most 20 characters, "" for "YARN"
	Tags     []string
	Priority *int // nil for the queue's default
	AM       ContainerSpec
	Resource Resource // size of the ApplicationMaster's container
	// MaxAttempts limits the application's attempts; 0 means the cluster's limit.
	MaxAttempts int
	// AttemptFailuresValidityInterval is how long a failed attempt counts towards
	// MaxAttempts; 0 means for ever.
	AttemptFailuresValidityInterval time.Duration
	UnmanagedAM                     bool
	LogAggregation                  *LogAggregation
	AMNodeLabelExpression           string
	// KeepTokens prevents the ResourceManager from cancelling the delegation tokens when the
	// application ends.
	KeepTokens bool
}

// ContainerSpec describes how a container is started. It corresponds to Hadoop's
// ContainerLaunchContext.
type ContainerSpec struct {
	LocalResources map[string]LocalResource // local resources, by their names in the working directory
	// Environment has the container's environment variables. The NodeManager exports them in a
	// shell script that puts each value unchanged between double quotes. So the shell expands
	// $NAME, and quotes, backquotes and backslashes must be escaped by a backslash.
	Environment map[string]string
	// Commands are joined by spaces into one command line, which the NodeManager puts between
	// double quotes after "exec /bin/bash -c". The NodeManager replaces <LOG_DIR> by the
	// container's log directory.
	Commands []string
	Secrets  map[string][]byte // secrets, by alias
	Tokens   map[string]string // delegation tokens, by alias, as Hadoop's Token.encodeToUrlString encodes them
	ACLs     map[string]string // users and groups by access right (ACLView or ACLModify): "user1,user2 group1", or "*" for all
}

// The access rights on an application that are keys of ContainerSpec.ACLs.
const (
	ACLView   = "VIEW_APP"
	ACLModify = "MODIFY_APP"
)

// LocalResourceType determines whether the NodeManager unpacks a local resource.
type LocalResourceType string

// LocalResourceVisibility determines which containers on a node share a local resource.
type LocalResourceVisibility string

// The types and visibilities of local resources.
const (
	ResourceFile    LocalResourceType = "FILE"    // not unpacked
	ResourceArchive LocalResourceType = "ARCHIVE" // unpacked into a directory

	VisibilityPublic      LocalResourceVisibility = "PUBLIC"      // shared by all users of the node
	VisibilityPrivate     LocalResourceVisibility = "PRIVATE"     // shared by all applications of the user on the node
	VisibilityApplication LocalResourceVisibility = "APPLICATION" // used only by this application
)

// LocalResource is a file that the NodeManager localizes for a container.
type LocalResource struct {
	URL        string // "hdfs://cluster/user/a/app"
	Type       LocalResourceType
	Visibility LocalResourceVisibility
	Size       int64 // in bytes; must be the file's size
	Timestamp  int64 // in milliseconds since 1970; must be the file's modification time
}

// LogAggregation selects the log files to aggregate, by Java regular expressions that match
// their names. An expression that is "" is ignored.
type LogAggregation struct {
	Include, Exclude             string // for files aggregated after the application has ended
	RolledInclude, RolledExclude string // for files aggregated while the application runs
}

// SubmitApplication submits an application. It returns when the ResourceManager has accepted
// the request. If the ResourceManager refuses it, for example because the queue does not
// exist, SubmitApplication returns a *RemoteError with the ResourceManager's message, or the
// application's state later becomes StateFailed.
func (c *Client) SubmitApplication(ctx context.Context, s *SubmissionContext) error {
	if s.ID == "" {
		return errors.New("submitting an application: it has no id (see NewApplication)")
	}
	return c.sendJSON(ctx, http.MethodPost, appsPath, s)
}

// MarshalJSON returns the JSON form that the ResourceManager reads.
func (s *SubmissionContext) MarshalJSON() ([]byte, error) {
	m := map[string]any{
		"application-id":    s.ID,
		"application-name":  s.Name,
		"am-container-spec": s.AM.encode(),
		"resource":          s.Resource.encode(),
	}
	optional(m, "queue", s.Queue)
	optional(m, "application-type", s.Type)
	optional(m, "max-app-attempts", s.MaxAttempts)
	optional(m, "attempt-failures-validity-interval", s.AttemptFailuresValidityInterval.Milliseconds())
	optional(m, "unmanaged-AM", s.UnmanagedAM)
	optional(m, "am-container-node-label-expression", s.AMNodeLabelExpression)
	if s.KeepTokens {
		m["cancel-tokens-when-complete"] = false
	}
	if len(s.Tags) > 0 {
		m["application-tags"] = map[string]any{"tag": s.Tags}
	}
	if s.Priority != nil {
		m["priority"] = *s.Priority
	}
	if l := s.LogAggregation; l != nil {
		log := map[string]any{}
		optional(log, "log-include-pattern", l.Include)
		optional(log, "log-exclude-pattern", l.Exclude)
		optional(log, "rolled-log-include-pattern", l.RolledInclude)
		optional(log, "rolled-log-exclude-pattern", l.RolledExclude)
		m["log-aggregation-context"] = log
	}
	return json.Marshal(m)
}

// optional sets m[key] to value, unless value is the zero value. In that case the server uses
// its default.
func optional[T comparable](m map[string]any, key string, value T) {
	var zero T
	if value != zero {
		m[key] = value
	}
}

func (s ContainerSpec) encode() map[string]any {
	m := map[string]any{}
	if len(s.LocalResources) > 0 {
		m["local-resources"] = entries(s.LocalResources, func(r LocalResource) any {
			return map[string]any{"resource": r.URL, "type": r.Type, "visibility": r.Visibility, "size": r.Size, "timestamp": r.Timestamp}
		})
	}
	if len(s.Environment) > 0 {
		m["environment"] = entries(s.Environment, encodeString)
	}
	if len(s.Commands) > 0 {
		m["commands"] = map[string]any{"command": s.Commands}
	}
	credentials := map[string]any{}
	if len(s.Secrets) > 0 {
		credentials["secrets"] = entries(s.Secrets, urlBase64)
	}
	if len(s.Tokens) > 0 {
		credentials["tokens"] = entries(s.Tokens, encodeString)
	}
	if len(credentials) > 0 {
		m["credentials"] = credentials
	}
	if len(s.ACLs) > 0 {
		m["application-acls"] = entries(s.ACLs, encodeString)
	}
	return m
}

// entries converts a map to the form in which JAXB encodes maps: {"entry": [{"key": …,
// "value": …}, …]}.
func entries[V any](values map[string]V, encode func(V) any) map[string]any {
	list := make([]map[string]any, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, map[string]any{"key": key, "value": encode(values[key])})
	}
	return map[string]any{"entry": list}
}

func encodeString(s string) any { return s }

// urlBase64 encodes a secret in unpadded URL-safe base64, which the ResourceManager expects.
func urlBase64(b []byte) any { return base64.RawURLEncoding.EncodeToString(b) }
