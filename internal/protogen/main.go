// Command protogen generates the Go code for every .proto file of the module.
//
// protogen compiles the files itself, and passes the result to the plug-ins protoc-gen-go and
// protoc-gen-go-grpc, which are tools in go.mod. So neither protoc nor the plug-ins need to be
// installed.
//
// Usage, in the module's root directory:
//
//	go run ./internal/protogen
package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// parameter makes the plug-ins place each generated file beside its .proto file.
const parameter = "paths=source_relative"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	files, err := protoFiles(".")
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no .proto file below the working directory: run it from the module's root")
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files, Parameter: proto.String(parameter)}
	seen := map[string]bool{}
	for _, file := range compiled {
		addFile(request, seen, file)
	}
	for _, plugin := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(ctx, plugin, request); err != nil {
			return err
		}
	}
	return nil
}

// protoFiles lists the .proto files below root. It skips hidden directories.
func protoFiles(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if !entry.IsDir() && filepath.Ext(path) == ".proto" {
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	return files, err
}

// addFile appends the imports of file, and then file itself, to the request. Plug-ins require
// this order.
func addFile(request *pluginpb.CodeGeneratorRequest, seen map[string]bool, file protoreflect.FileDescriptor) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		addFile(request, seen, imports.Get(i).FileDescriptor)
	}
	request.ProtoFile = append(request.ProtoFile, descriptor(file))
}

// descriptor returns the descriptor of a file. If the compiler has created the descriptor, it
// contains the comments of the file, which the plug-ins copy into the generated code.
func descriptor(file protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	if compiled, ok := file.(interface {
		FileDescriptorProto() *descriptorpb.FileDescriptorProto
	}); ok {
		return compiled.FileDescriptorProto()
	}
	return protodesc.ToFileDescriptorProto(file)
}

func generate(ctx context.Context, plugin string, request *pluginpb.CodeGeneratorRequest) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "tool", plugin)
	command.Stdin = bytes.NewReader(input)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", plugin, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return fmt.Errorf("%s: answer: %w", plugin, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", plugin, response.GetError())
	}
	for _, file := range response.File {
		// Do not write an unchanged file, because a compiler may be reading it.
		name, content := filepath.FromSlash(file.GetName()), []byte(file.GetContent())
		if before, err := os.ReadFile(name); err == nil && bytes.Equal(before, content) {
			continue
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
