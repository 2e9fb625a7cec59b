package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

const testApplication = "application_1700000000000_0001"

// testStager returns a stager that uses a directory on the local disk, root.
func testStager(t *testing.T) (s *stager, root string, said *bytes.Buffer) {
	t.Helper()
	return testStagerWith(t, nil)
}

// testStagerWith is like testStager, with further settings.
func testStagerWith(t *testing.T, more map[string]string) (s *stager, root string, said *bytes.Buffer) {
	t.Helper()
	me, err := user.Current()
	require.NoError(t, err)
	files := storage.New(storage.Options{User: me.Username})
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	root, said = t.TempDir(), &bytes.Buffer{}
	values := map[string]string{"yarn.stagingDir": "file://" + root, "yarn.cache.minSize": "100b"}
	maps.Copy(values, more)
	settings, err := config.FromMap(values)
	require.NoError(t, err)
	s, err = newStager(files, settings, me.Username, NewConsole(said))
	require.NoError(t, err)
	return s, filepath.Join(root, me.Username, ".bobbin"), said
}

func localFile(t *testing.T, name, content string) localizedFile {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	one, err := newLocalizedFile(file, false)
	require.NoError(t, err)
	return one
}

// tree lists the files below a directory.
func tree(t *testing.T, root string) []string {
	t.Helper()
	found := []string{}
	require.NoError(t, filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			relative, _ := filepath.Rel(root, name)
			found = append(found, relative)
		}
		return err
	}))
	return found
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func TestStageUploadsOnceAndCleansUp(t *testing.T) {
	ctx := context.Background()
	large := strings.Repeat("program", 100)
	all := []localizedFile{localFile(t, "wordcount", large), localFile(t, "a file.txt", "small")}

	first, root, said := testStager(t)
	seen, err := first.find(ctx, all)
	require.NoError(t, err)
	require.NoDirExists(t, root, "looking makes nothing")
	resources, err := first.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	cached := "cache/" + hashOf(large) + "/wordcount"
	require.Equal(t, []string{cached, "staging/" + testApplication + "/a_file.txt"}, tree(t, root))
	require.Contains(t, said.String(), "uploaded wordcount (700 B)")
	require.Equal(t, []string{"file://" + root + "/cache/" + hashOf(large)}, cacheDirs(seen, first.cache()))

	require.Len(t, resources, 2)
	for i, resource := range resources {
		require.Equal(t, all[i].name, resource.Name)
		info, err := os.Stat(strings.TrimPrefix(resource.URL, "file://"))
		require.NoError(t, err)
		require.Equal(t, info.Size(), resource.Size)
		require.Equal(t, info.ModTime().UnixMilli(), resource.Timestamp)
		require.Equal(t, os.FileMode(0o500), info.Mode().Perm())
	}
	require.NoError(t, first.remove(ctx))
	require.Equal(t, []string{cached}, tree(t, root))
	require.NoDirExists(t, root+"/staging")

	// The second submission of the same program uses the cached program, and prints its age.
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(root, "cache", hashOf(large)), past, past))
	second := *first
	seen, err = second.find(ctx, all[:1])
	require.NoError(t, err)
	said.Reset()
	again, err := second.upload(ctx, seen, "application_1700000000000_0002")
	require.NoError(t, err)
	require.Equal(t, resources[:1], again, "the file's timestamp does not change when it is used")
	require.Equal(t, "reused wordcount (700 B), uploaded before\n", said.String())
	info, err := os.Stat(filepath.Join(root, "cache", hashOf(large)))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), info.ModTime(), time.Minute, "the entry counts as used")
	require.NoError(t, second.remove(ctx))
}

func TestStageKeepsTheFirstOfTwoUploads(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	all := []localizedFile{localFile(t, "app", strings.Repeat("x", 200))}
	seen, err := s.find(ctx, all)
	require.NoError(t, err)
	// Another submission uploads the same file between the calls of find and upload.
	other := *s
	theirs, err := other.find(ctx, all)
	require.NoError(t, err)
	want, err := other.upload(ctx, theirs, "application_1700000000000_0002")
	require.NoError(t, err)

	got, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Len(t, tree(t, root), 1, "no part of an upload is left")
}

func TestStageShipsOneFileUnderTwoNames(t *testing.T) {
	ctx := context.Background()
	s, root, said := testStager(t)
	one := localFile(t, "data", strings.Repeat("x", 200))
	two := one
	two.name = "other"
	seen, err := s.find(ctx, []localizedFile{one, two})
	require.NoError(t, err)
	resources, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.Equal(t, []string{"data", "other"}, []string{resources[0].Name, resources[1].Name})
	require.Equal(t, resources[0].URL, resources[1].URL)
	require.Equal(t, 1, strings.Count(said.String(), "uploaded"))
	require.Len(t, tree(t, root), 1)
}

func TestStageSeparatesSmallFilesOfTheSameName(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	one, two := localFile(t, "conf", "1"), localFile(t, "conf", "2")
	two.name = "conf2"
	seen, err := s.find(ctx, []localizedFile{one, two})
	require.NoError(t, err)
	resources, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.NotEqual(t, resources[0].URL, resources[1].URL)
	require.Len(t, tree(t, root), 2)
	require.NoError(t, s.remove(ctx))
	require.Empty(t, tree(t, root))
}

func TestPreservedFilesAreNeverRemoved(t *testing.T) {
	ctx := context.Background()
	s, root, said := testStagerWith(t, map[string]string{"yarn.preserveStagingFiles": "true"})
	seen, err := s.find(ctx, []localizedFile{localFile(t, "small", "1")})
	require.NoError(t, err)
	resources, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.Empty(t, s.staging, "the ApplicationMaster is told of no directory to remove")
	require.NoError(t, s.remove(ctx))
	kept := "preserved/" + testApplication
	long := time.Now().Add(-2 * stagingGrace)
	require.NoError(t, os.Chtimes(filepath.Join(root, kept), long, long))
	require.NoError(t, s.pruneStaging(ctx, "", func(context.Context, string) (bool, error) { return true, nil }))
	require.Equal(t, []string{kept + "/small"}, tree(t, root))
	require.Equal(t, "file://"+root+"/"+kept+"/small", resources[0].URL)
	require.Contains(t, said.String(), "uploaded files stay in file://"+root+"/"+kept+"\n")
}

func TestKeytabIsForItsOwnerAndRemoved(t *testing.T) {
	for _, preserve := range []string{"false", "true"} {
		ctx := context.Background()
		s, root, _ := testStagerWith(t, map[string]string{"yarn.preserveStagingFiles": preserve, "yarn.cache.minSize": "1b"})
		keytab := localFile(t, "alice.keytab", "the keys")
		keytab.name, keytab.secret = launch.KeytabFile, true
		found, err := s.find(ctx, []localizedFile{keytab})
		require.NoError(t, err)
		resources, err := s.upload(ctx, found, testApplication)
		require.NoError(t, err)
		staged := "staging/" + testApplication + "/" + launch.KeytabFile
		require.Equal(t, []string{staged}, tree(t, root), "not in the cache")
		require.Equal(t, "file://"+root+"/"+staged, resources[0].URL)
		info, err := os.Stat(filepath.Join(root, staged))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NoError(t, s.remove(ctx))
		require.Empty(t, tree(t, root))
	}
}

func TestStageReplacesADamagedEntry(t *testing.T) {
	ctx := context.Background()
	s, root, said := testStager(t)
	content := strings.Repeat("x", 200)
	damaged := filepath.Join(root, "cache", hashOf(content), "app")
	require.NoError(t, os.MkdirAll(filepath.Dir(damaged), 0o700))
	require.NoError(t, os.WriteFile(damaged, []byte("xx"), 0o500))
	seen, err := s.find(ctx, []localizedFile{localFile(t, "app", content)})
	require.NoError(t, err)
	require.Contains(t, said.String(), "warning: ")
	resources, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.EqualValues(t, 200, resources[0].Size)
}

func TestStageRefusesADirectoryThatOthersCanWriteTo(t *testing.T) {
	s, root, _ := testStager(t)
	require.NoError(t, os.MkdirAll(root, 0o700))
	require.NoError(t, os.Chmod(root, 0o777))
	_, err := s.find(context.Background(), []localizedFile{localFile(t, "app", strings.Repeat("x", 200))})
	require.ErrorContains(t, err, "0777")
	require.Equal(t, ExitCluster, ExitCode(err))
}

func TestStageRemovesAFailedUpload(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	small, gone := localFile(t, "small", "1"), localFile(t, "app", strings.Repeat("x", 200))
	seen, err := s.find(ctx, []localizedFile{small, gone})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(gone.path, []byte("shorter"), 0o600))
	_, err = s.upload(ctx, seen, testApplication)
	require.ErrorContains(t, err, "changed while it was uploaded")
	require.Equal(t, ExitUsage, ExitCode(err))
	require.NoError(t, s.remove(ctx))
	require.Empty(t, tree(t, root))
}

func TestStageStopsWithItsContext(t *testing.T) {
	s, _, _ := testStager(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := s.find(ctx, []localizedFile{localFile(t, "app", strings.Repeat("x", 200))})
	require.ErrorIs(t, err, context.Canceled)
}

func TestStageUsesRemoteFilesInPlace(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	there := filepath.Join(t.TempDir(), "table of 100%.csv")
	require.NoError(t, os.WriteFile(there, []byte("1,2"), 0o600))
	seen, err := s.find(ctx, []localizedFile{{path: "file://" + there, name: "table", remote: true}})
	require.NoError(t, err)
	resources, err := s.upload(ctx, seen, testApplication)
	require.NoError(t, err)
	require.NoDirExists(t, root)
	require.True(t, strings.HasSuffix(resources[0].URL, "/table%20of%20100%25.csv"), resources[0].URL)
	require.EqualValues(t, 3, resources[0].Size)

	_, err = s.find(ctx, []localizedFile{{path: "file://" + there + "x", name: "table", remote: true}})
	require.Equal(t, ExitUsage, ExitCode(err))
	_, err = s.find(ctx, []localizedFile{{path: "file://" + filepath.Dir(there), name: "table", remote: true}})
	require.ErrorContains(t, err, "is a directory")
}

func TestPruneRemovesUnusedEntries(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	require.NoError(t, s.prune(ctx, time.Now(), nil), "there is no cache yet")
	entry := func(name string, age time.Duration, files ...string) string {
		dir := filepath.Join(root, "cache", name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		for _, file := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, then, then))
		return dir
	}
	entry("new", time.Minute, "a")
	entry("old", 2*time.Hour, "b")
	inUse := entry("used", 2*time.Hour, "c", ".c.x.part", ".c.y.part")
	dead := time.Now().Add(-2 * partMaxAge)
	require.NoError(t, os.Chtimes(filepath.Join(inUse, ".c.x.part"), dead, dead))

	require.NoError(t, s.prune(ctx, time.Now().Add(-time.Hour), []string{"file://" + inUse}))
	require.Equal(t, []string{"cache/new/a", "cache/used/.c.y.part", "cache/used/c"}, tree(t, root))
}

func TestPruneIsBounded(t *testing.T) {
	s, root, _ := testStager(t)
	for i := range pruneLimit + 5 {
		dir := filepath.Join(root, "cache", strings.Repeat("a", i+1))
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.Chtimes(dir, time.Unix(0, 0), time.Unix(1, 0)))
	}
	require.NoError(t, s.prune(context.Background(), time.Now(), nil))
	left, err := os.ReadDir(filepath.Join(root, "cache"))
	require.NoError(t, err)
	require.Len(t, left, 5)
}

func TestInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"app", "a.txt", "b.zip", "tmp"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	program := &Program{Path: filepath.Join(dir, "app"), Name: "app", Size: 1}
	at := func(name string) string { return filepath.Join(dir, name) }

	all, err := localizedFiles(program, []string{at("a.txt"), at("a.txt") + "#c.txt", "hdfs:///d/e.txt", "file://" + at("a.txt") + "#f"}, []string{at("b.zip") + "#data"})
	require.NoError(t, err)
	require.Equal(t, []localizedFile{
		{path: at("app"), name: "app", size: 1}, {path: at("a.txt"), name: "a.txt", size: 1}, {path: at("a.txt"), name: "c.txt", size: 1},
		{path: "hdfs:///d/e.txt", name: "e.txt", remote: true}, {path: at("a.txt"), name: "f", size: 1},
		{path: at("b.zip"), name: "data", size: 1, archive: true},
	}, all)

	for name, test := range map[string]struct {
		files, archives []string
		want            string
	}{
		"missing":          {files: []string{at("none")}, want: "no such file"},
		"directory":        {files: []string{dir}, want: "--archives"},
		"no archive":       {archives: []string{at("a.txt")}, want: ".tar.gz"},
		"other scheme":     {files: []string{"s3://b/k"}, want: "hdfs://"},
		"same name":        {files: []string{at("a.txt") + "#app"}, want: "both"},
		"name with slash":  {files: []string{at("a.txt") + "#x/y"}, want: "x/y"},
		"empty name":       {files: []string{at("a.txt") + "#"}, want: "no file name"},
		"YARN's own name":  {files: []string{at("tmp")}, want: "YARN itself"},
		"of more than one": {files: []string{at("none"), at("a.txt") + "#.."}, want: `".." is no file name`},
	} {
		_, err := localizedFiles(program, test.files, test.archives)
		require.ErrorContains(t, err, test.want, name)
		require.Equal(t, ExitUsage, ExitCode(err), name)
	}
}

func TestInputsChecksTheProgramsName(t *testing.T) {
	for _, name := range []string{"launch_container.sh", "it's", "a$b", "tmp"} {
		_, err := localizedFiles(&Program{Path: "/x/" + name, Name: name}, nil, nil)
		require.ErrorContains(t, err, name)
		require.Equal(t, ExitUsage, ExitCode(err))
	}
	_, err := localizedFiles(&Program{Path: "/x/my app", Name: "my app"}, nil, nil)
	require.NoError(t, err)
}

func TestPruneRemovesStagingOfEndedApplications(t *testing.T) {
	ctx := context.Background()
	s, root, _ := testStager(t)
	own := "file://" + root + "/staging/application_1_0004"
	for name, age := range map[string]time.Duration{
		"application_1_0001": 2 * stagingGrace, "application_1_0002": 2 * stagingGrace, "application_1_0003": stagingGrace / 2,
		"application_1_0004": 2 * stagingGrace, "notes": 2 * stagingGrace,
	} {
		dir := filepath.Join(root, "staging", name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, then, then))
	}
	var asked []string
	require.NoError(t, s.pruneStaging(ctx, own, func(_ context.Context, id string) (bool, error) {
		asked = append(asked, id)
		return id == "application_1_0002", nil
	}))
	require.Equal(t, []string{"application_1_0001", "application_1_0002"}, asked)
	require.Equal(t, []string{
		"staging/application_1_0001/f", "staging/application_1_0003/f", "staging/application_1_0004/f", "staging/notes/f",
	}, tree(t, root))
}

func TestStagingDirOfTheUser(t *testing.T) {
	files := storage.New(storage.Options{User: "ann"})
	defer files.Close()
	s, err := newStager(files, config.Default(), "ann", NewConsole(&bytes.Buffer{}))
	require.NoError(t, err)
	require.Equal(t, "file:///user/ann/.bobbin", s.base)
	settings, err := config.FromMap(map[string]string{"yarn.stagingDir": "/data/stage/"})
	require.NoError(t, err)
	s, err = newStager(files, settings, "ann", NewConsole(&bytes.Buffer{}))
	require.NoError(t, err)
	require.Equal(t, "file:///data/stage/ann/.bobbin", s.base)
}
