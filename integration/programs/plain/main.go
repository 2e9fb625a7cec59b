// Command plain is a Go program without bobbin, to test what its submission reports.
// It imports nothing, as it is built for other systems, too.
package main

func main() { println("plain") }
