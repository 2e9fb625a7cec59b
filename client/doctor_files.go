package client

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/storage"
)

// fileSystem checks the staging directory, writes and reads a block in it, and obtains and cancels
// a delegation token.
func (e *doctorRun) fileSystem(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*doctorTimeout)
	defer cancel()
	files := e.cluster.OpenFileSystems()
	defer func() { _ = files.Close() }()
	stager, err := newStager(files, e.settings, e.cluster.user, NewConsole(io.Discard))
	if err == nil {
		err = stager.makeBase(ctx)
	}
	if err != nil {
		e.problem("staging directory", err, config.StagingDir.Name(), "have an administrator make your home directory in HDFS, or name another directory")
		return
	}
	e.ok("staging directory", "%s", stager.base)
	e.block(ctx, files, stager.base)
	e.token(ctx, files, stager.base)
}

// block writes, reads and removes a file in dir. Only this check connects to DataNodes.
func (e *doctorRun) block(ctx context.Context, files *storage.Files, dir string) {
	const check, key = "block", "dfs.data.transfer.protection"
	err := CopyBlock(ctx, files, dir)
	if err != nil {
		e.problem(check, fmt.Errorf("a block cannot be written and read: %w", err), key,
			"this machine must reach the datanodes, at the addresses that the NameNode names (dfs.client.use.datanode.hostname), with the cluster's "+
				key+" and dfs.encrypt.data.transfer")
		return
	}
	e.ok(check, "written and read; %s is %s", key, e.hadoop.GetDefault(key, "not set"))
}

// CopyBlock writes a file in an HDFS directory, reads it and removes it. It fails if it cannot
// connect to the NameNode, or to the DataNode that the NameNode selects.
func CopyBlock(ctx context.Context, files *storage.Files, dir string) (err error) {
	const content = "yarn-submit doctor"
	name := dir + "/doctor-" + rand.Text()
	writer, err := files.Create(ctx, name)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), doctorTimeout)
		defer cancel()
		if removing := files.Remove(ctx, name); !errors.Is(removing, fs.ErrNotExist) {
			err = errors.Join(err, removing)
		}
	}()
	if _, err := io.WriteString(writer, content); err != nil {
		return errors.Join(err, writer.Abort())
	}
	if err := writer.Close(); err != nil {
		return err
	}
	file, err := files.Open(ctx, name)
	if err != nil {
		return err
	}
	read, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err == nil && string(read) != content {
		err = fmt.Errorf("%d bytes were written, and other ones read", len(content))
	}
	return err
}

// token obtains a delegation token for the file system of uri, and cancels it. If
// HADOOP_TOKEN_FILE_LOCATION is set, token instead checks the token in that file.
func (e *doctorRun) token(ctx context.Context, files *storage.Files, uri string) {
	const check = "delegation token"
	const remedy = "set it to the ResourceManager's principal, which must be the token's renewer; see also the findings about the NameNodes"
	if !e.cluster.identity.Secure() {
		return
	}
	renewer, given := "", e.cluster.identity.tokens != nil
	var err error
	if e.cluster.identity.kerberos != nil {
		if renewer, err = e.cluster.renewer(); err != nil {
			e.problem(check, err, managerPrincipal, remedy)
			return
		}
	}
	token, err := files.DelegationToken(ctx, uri, renewer)
	switch {
	case err != nil:
	case token.IsZero():
		return
	case given:
		err = e.cluster.checkRenewer(uri, token)
	default:
		err = files.CancelToken(ctx, uri, token)
	}
	if err != nil {
		e.problem(check, err, managerPrincipal, remedy)
		return
	}
	identifier, err := token.ParseIdentifier()
	if err != nil {
		e.problem(check, err, managerPrincipal, remedy)
		return
	}
	end := identifier.MaxDate.Format(time.DateTime)
	if given {
		e.ok(check, "that of %s; its renewer is %s, and it ends at %s", security.TokenFileVariable, identifier.Renewer, end)
		return
	}
	e.ok(check, "got and cancelled; its renewer is %s, and it would end at %s", identifier.Renewer, end)
}
