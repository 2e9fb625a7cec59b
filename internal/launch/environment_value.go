package launch

// EnvironmentValue is a variable's value as it stands in a container's launch
// context. A NodeManager writes it between the double quotes of a shell's
// export NAME="…" (ContainerLaunch.java of Hadoop 3); so that the process gets
// it byte for byte, what means something there is escaped. What YARN itself
// expands, {{NAME}} and <LOG_DIR>, stays as it is.
func EnvironmentValue(value string) string { return outer.Replace(value) }
