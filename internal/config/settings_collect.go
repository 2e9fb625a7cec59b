package config

// What tasks of yarn-submit run bring back.
var (
	CollectMaxFiles = number("collect.maxFiles", "1000", "How many files one task may bring back with `--collect`; it fails where it has more.", 1)
	CollectMaxSize  = size("collect.maxSize", "10g", "How large the files may be together that one task brings back with `--collect`; it fails where they "+
		"are larger.")
)
