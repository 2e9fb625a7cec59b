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

// ResourceType specifies whether a NodeManager unpacks a file that it has fetched.
type ResourceType int32

// The types of local resources, with the protocol's numbers.
const (
	ArchiveResource ResourceType = 1 // unpacked into a directory
	FileResource    ResourceType = 2 // not unpacked
)

// Visibility specifies which containers on a NodeManager share a localized file.
type Visibility int32

// The visibilities of local resources, with the protocol's numbers.
const (
	// PublicVisibility shares the file among all users of the node, who must all be
	// allowed to read it and to search its parent directories.
	PublicVisibility      Visibility = 1
	PrivateVisibility     Visibility = 2 // shares the file among the applications of the submitting user
	ApplicationVisibility Visibility = 3 // shares the file among the containers of the application
)

// LocalResource is a file that a NodeManager fetches ("localizes") for a container.
type LocalResource struct {
	// URL is the file's URL, such as "hdfs://nn:8020/path". The host can be that of a
	// NameNode or a name service. A fragment is ignored, because the link's name is the key
	// in ContainerLaunchContext.LocalResources.
	URL string
	// Size, in bytes, and Timestamp, the modification time in milliseconds since 1970, must
	// equal those of the stored file. Otherwise the NodeManager does not fetch it, and the
	// container fails.
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

// Access is a right on an application that can be granted to users other than its owner.
type Access int32

// The access rights, with the protocol's numbers.
const (
	ViewAccess   Access = 1
	ModifyAccess Access = 2
)

// ContainerLaunchContext describes how a NodeManager starts a container.
type ContainerLaunchContext struct {
	// LocalResources are the files to localize, by the name of their link in the working
	// directory.
	LocalResources map[string]LocalResource
	// Env are the environment variables. The NodeManager replaces <LOG_DIR>, {{VAR}} and <CPS>
	// in the values, and exports each value between double quotes in a shell script. So the
	// shell expands $VAR, and the caller must escape quotes, backquotes and backslashes by a
	// backslash.
	Env map[string]string
	// Commands are joined by spaces to one command line, in which the NodeManager replaces
	// <LOG_DIR> by the container's log directory. The NodeManager's script runs exec /bin/bash
	// -c "…", so the script's shell expands the line once before bash does.
	Commands []string
	// Tokens is the content of the credentials file whose path is in the container's
	// environment variable HADOOP_TOKEN_FILE_LOCATION; empty for none.
	Tokens []byte
	// ServiceData is data for the NodeManager's auxiliary services, by service name. A
	// NodeManager that lacks one of the services refuses the container (ErrNoAuxService).
	ServiceData map[string][]byte
	// ACLs are the users and groups that have each right, as "user1,user2 group1,group2" or
	// "*".
	ACLs map[Access]string
	// Shared, if not nil, is added to the other fields. A local resource, variable or right
	// must not be in both Shared and the other fields.
	Shared *SharedLaunch
}

// SharedLaunch is the common part of several launch contexts. It is encoded only once.
type SharedLaunch struct {
	encoded []byte
	context ContainerLaunchContext
}

// NewSharedLaunch encodes the common part of several launch contexts. It fails if a local
// resource's URL is invalid.
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

// Context returns the argument of NewSharedLaunch.
func (s *SharedLaunch) Context() ContainerLaunchContext { return s.context }

// String returns only the numbers of entries, because the environment and tokens may be secret.
func (c ContainerLaunchContext) String() string {
	return fmt.Sprintf("launch context (%d local resources, %d variables, %d commands)", len(c.LocalResources), len(c.Env), len(c.Commands))
}

// Format writes c.String() for every verb, so that no format prints a secret.
func (c ContainerLaunchContext) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, c.String())
}

// LogValue returns c.String() as the value that slog logs.
func (c ContainerLaunchContext) LogValue() slog.Value { return slog.StringValue(c.String()) }

// proto returns the protobuf message. Its entries are sorted by key, so that equal contexts
// have equal encodings.
func (c ContainerLaunchContext) proto() (*pb.ContainerLaunchContext, error) {
	p := &pb.ContainerLaunchContext{Commands: c.Commands}
	if c.Shared != nil {
		// Protobuf writes unknown fields unchanged. So the shared part is set as unknown
		// fields, and is not encoded again.
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
	for _, name := range slices.Sorted(maps.Keys(c.ServiceData)) {
		p.ServiceData = append(p.ServiceData, &pb.StringBytes{Key: &name, Value: c.ServiceData[name]})
	}
	for _, access := range slices.Sorted(maps.Keys(c.ACLs)) {
		p.Acls = append(p.Acls, &pb.ApplicationAcl{Access: pb.ApplicationAccess(access).Enum(), Acl: proto.String(c.ACLs[access])})
	}
	return p, nil
}
