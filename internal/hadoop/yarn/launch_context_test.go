package yarn

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn/pb"
)

func TestSharedLaunchIsPartOfEveryContext(t *testing.T) {
	resources := map[string]LocalResource{"app": {URL: "hdfs://nn:8020/app", Size: 1, Timestamp: 2, Type: FileResource, Visibility: PrivateVisibility}}
	shared, err := NewSharedLaunch(ContainerLaunchContext{
		LocalResources: resources, Env: map[string]string{"A": "1"}, Commands: []string{"./app"}, Tokens: []byte("HDTS"),
		ACLs: map[Access]string{ViewAccess: "ann"}, ServiceData: map[string][]byte{"shuffle": {1}},
	})
	require.NoError(t, err)
	require.Equal(t, resources, shared.Context().LocalResources)

	message, err := ContainerLaunchContext{Env: map[string]string{"B": "2"}, Shared: shared}.proto()
	require.NoError(t, err)
	encoded, err := proto.Marshal(message)
	require.NoError(t, err)
	got := &pb.ContainerLaunchContext{}
	require.NoError(t, proto.Unmarshal(encoded, got))
	want, err := ContainerLaunchContext{
		LocalResources: resources, Env: map[string]string{"A": "1", "B": "2"}, Commands: []string{"./app"}, Tokens: []byte("HDTS"),
		ACLs: map[Access]string{ViewAccess: "ann"}, ServiceData: map[string][]byte{"shuffle": {1}},
	}.proto()
	require.NoError(t, err)
	// The order of variables does not matter.
	got.Environment[0], got.Environment[1] = got.Environment[1], got.Environment[0]
	same(t, want, got)

	_, err = NewSharedLaunch(ContainerLaunchContext{LocalResources: map[string]LocalResource{"x": {URL: "/none"}}})
	require.ErrorContains(t, err, `local resource "x"`)
}

func BenchmarkLaunchContext(b *testing.B) {
	context := ContainerLaunchContext{
		LocalResources: map[string]LocalResource{"app": {URL: "hdfs://nn:8020/user/ann/.bobbin/cache/0123456789/app", Type: FileResource, Visibility: PrivateVisibility}},
		Env:            map[string]string{"A": "1", "B": "2", "C": "3", "D": "4", "E": "5", "F": "6", "G": "7"},
		Commands:       []string{"exec ./app"}, Tokens: make([]byte, 2000),
	}
	perContainer := map[string]string{"ID": "7", "HOST": "node", "LOG": "http://node/logs"}
	shared, err := NewSharedLaunch(context)
	require.NoError(b, err)
	for name, context := range map[string]ContainerLaunchContext{"whole": context, "shared": {Env: perContainer, Shared: shared}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				message, err := context.proto()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := proto.Marshal(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
