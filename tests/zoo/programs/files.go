// Files by Go, which makes its system calls itself.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"sync"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	file, err := os.Create("random")
	check(err)
	for i := 0; i < 500; i++ {
		_, err := file.WriteAt([]byte(fmt.Sprintf("%10d", i)), int64(i*37%500)*10)
		check(err)
	}
	sum, piece := 0, make([]byte, 10)
	for i := 0; i < 500; i++ {
		_, err := file.ReadAt(piece, int64(i)*10)
		check(err)
		var value int
		fmt.Sscan(string(piece), &value)
		sum += i * value
	}
	fmt.Println(sum)
	check(file.Close())
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			out, err := os.Create(fmt.Sprintf("routine%d", number))
			check(err)
			writer := bufio.NewWriter(out)
			for j := 0; j < 2000; j++ {
				fmt.Fprintln(writer, j*number)
			}
			check(writer.Flush())
			check(out.Close())
		}(i)
	}
	group.Wait()
	from, err := os.Open("random")
	check(err)
	to, err := os.Create("copy")
	check(err)
	n, err := io.Copy(to, from)
	check(err)
	fmt.Println(n)
}
