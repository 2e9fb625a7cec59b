// Command plain is a Go program that does not use bobbin: what submissions of
// such a program are tested with. It is built for other systems as well, so it
// imports nothing.
package main

func main() { println("plain") }
