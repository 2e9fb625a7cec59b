// Command plain is a Go program that does not use bobbin. Tests check how yarn-submit refuses
// to submit it. It imports nothing, because tests also build it for other operating systems.
package main

func main() { println("plain") }
