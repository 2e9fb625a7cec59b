// Command configdoc prints docs/configuration.md.
package main

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func main() { fmt.Print(config.Markdown()) }
