package config

// What is started on the cluster's nodes.
var (
	Platform = oneOf("yarn.platform", "linux/amd64", "The operating system and processor of the cluster's nodes; a program built for "+
		"another is refused before anything is uploaded. Where not set, it is what the cluster's daemons say that they run on, and the default "+
		"where they do not tell.", "linux/amd64", "linux/arm64")
	Program = text("yarn.program", "", "The build for the cluster's nodes of the program that submits itself: of `yarn-submit` for `run`, and of the "+
		"program in client mode. Where not set, that is the program itself, or where it is built for another platform than the nodes, the file "+
		"beside it that is called after it and the platform, such as `yarn-submit-linux-amd64`.")
)
