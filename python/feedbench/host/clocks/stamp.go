// Answers each line with runtime.nanotime, the reading inside time.Now that Go shows to nobody.
package main

import (
	"bufio"
	"fmt"
	"os"
	_ "unsafe" // allows go:linkname
)

//go:linkname nanotime runtime.nanotime
func nanotime() int64

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(nanotime())
	}
}
