package yarn

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

// ResourceType determines what a NodeManager does with a localized file.
type ResourceType int32

// The types of local resources, with the protocol's numbers.
const (
	// ArchiveResource is unpacked.
	ArchiveResource ResourceType = 1
	// FileResource is not changed.
	FileResource ResourceType = 2
)

// Visibility determines which containers of a NodeManager share a localized file.
type Visibility int32

// The visibilities of local resources, with the protocol's numbers.
const (
	// PublicVisibility shares it among all users of the node. The file must be
	// readable, and its directories searchable, by all.
	PublicVisibility Visibility = 1
	// PrivateVisibility shares it among the user's own applications.
	PrivateVisibility Visibility = 2
	// ApplicationVisibility shares it among one application's containers.
	ApplicationVisibility Visibility = 3
)

// LocalResource is a file that a NodeManager fetches for a container.
type LocalResource struct {
	// URL is the file's full URL: "hdfs://nn:8020/path", or with a name
	// service in place of the address. A fragment has no meaning here; the
	// link's name is the key in ContainerLaunchContext.LocalResources.
	URL string
	// Size in bytes and Timestamp, the modification time in milliseconds since
	// 1970, must be the file's, or localization fails.
	Size       int64
	Timestamp  int64
	Type       ResourceType
	Visibility Visibility
}

func (r LocalResource) proto() (*pb.LocalResource, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "" || u.Path == "" {
		return nil, fmt.Errorf("url %q lacks scheme or path: it looks like hdfs://host:port/path", r.URL)
	}
	p := &pb.LocalResource{
		Resource:   &pb.Url{Scheme: &u.Scheme, File: &u.Path},
		Size:       &r.Size,
		Timestamp:  &r.Timestamp,
		Type:       pb.LocalResourceType(r.Type).Enum(),
		Visibility: pb.LocalResourceVisibility(r.Visibility).Enum(),
	}
	if host := u.Hostname(); host != "" {
		p.Resource.Host = &host
	}
	if u.Port() != "" {
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return nil, fmt.Errorf("url %q: port %s is out of range", r.URL, u.Port())
		}
		p.Resource.Port = proto.Int32(int32(port))
	}
	if u.User != nil {
		p.Resource.UserInfo = proto.String(u.User.String())
	}
	return p, nil
}

// Access is a right over an application.
type Access int32

// The rights over an application, with the protocol's numbers.
const (
	ViewAccess   Access = 1
	ModifyAccess Access = 2
)

// ContainerLaunchContext describes how a NodeManager starts a container.
type ContainerLaunchContext struct {
	// LocalResources are linked into the working directory under these names.
	LocalResources map[string]LocalResource
	// Env is exported by a shell script that puts each value between double
	// quotes: $VAR is expanded, and quotes, backquotes and backslashes need a
	// backslash. The node replaces <LOG_DIR>, {{VAR}} and <CPS> first.
	Env map[string]string
	// Commands are joined by spaces to one command line, which the script runs as
	// exec /bin/bash -c "…", so that its shell expands it once before. The node
	// replaces <LOG_DIR> by the container's log directory first.
	Commands []string
	// Tokens is an encoded credentials file, which the container finds by
	// HADOOP_TOKEN_FILE_LOCATION; empty for none.
	Tokens []byte
	// ACLs grants rights: users and groups as "user1,user2 group1,group2", or "*".
	ACLs map[Access]string
	// Shared is added to the fields above; nil for nothing. A name must not be in both.
	Shared *SharedLaunch
}

// SharedLaunch is the part that launch contexts have in common, encoded once.
type SharedLaunch struct {
	encoded []byte
	context ContainerLaunchContext
}

// NewSharedLaunch encodes a context for others to share. It fails if the URL of a
// local resource is invalid.
func NewSharedLaunch(context ContainerLaunchContext) (*SharedLaunch, error) {
	message, err := context.proto()
	if err != nil {
		return nil, err
	}
	encoded, err := proto.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode a launch context: %w", err)
	}
	return &SharedLaunch{encoded: encoded, context: context}, nil
}

// Context returns the shared context.
func (s *SharedLaunch) Context() ContainerLaunchContext { return s.context }

// String returns the sizes only: environments and tokens may be secret.
func (c ContainerLaunchContext) String() string {
	return fmt.Sprintf("launch context (%d local resources, %d variables, %d commands)", len(c.LocalResources), len(c.Env), len(c.Commands))
}

// Format writes String for every verb.
func (c ContainerLaunchContext) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, c.String())
}

// LogValue logs String.
func (c ContainerLaunchContext) LogValue() slog.Value { return slog.StringValue(c.String()) }

// proto encodes maps in the order of their keys, so that equal contexts have equal
// bytes.
func (c ContainerLaunchContext) proto() (*pb.ContainerLaunchContext, error) {
	p := &pb.ContainerLaunchContext{Commands: c.Commands}
	if c.Shared != nil {
		// The shared fields are already encoded; as unknown fields they are copied
		// unchanged.
		p.ProtoReflect().SetUnknown(c.Shared.encoded)
	}
	if len(c.Tokens) > 0 {
		p.Tokens = c.Tokens
	}
	for _, name := range slices.Sorted(maps.Keys(c.LocalResources)) {
		value, err := c.LocalResources[name].proto()
		if err != nil {
			return nil, fmt.Errorf("local resource %q: %w", name, err)
		}
		p.LocalResources = append(p.LocalResources, &pb.StringLocalResource{Key: &name, Value: value})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		p.Environment = append(p.Environment, &pb.StringString{Key: &name, Value: proto.String(c.Env[name])})
	}
	for _, access := range slices.Sorted(maps.Keys(c.ACLs)) {
		p.Acls = append(p.Acls, &pb.ApplicationAcl{Access: pb.ApplicationAccess(access).Enum(), Acl: proto.String(c.ACLs[access])})
	}
	return p, nil
}
