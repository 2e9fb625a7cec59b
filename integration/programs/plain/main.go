// Command plain is a Go program that does not use bobbin, to test what a submission
// of it reports. It imports nothing, as it is built for other systems too.
package main

func main() { println("plain") }
