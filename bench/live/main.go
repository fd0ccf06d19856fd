// Command live measures what a change of a session policy costs until it is live, and who pays for it: limpets run side by side,
// each with an Envoy under it, on the same routes with a policy each, and take changes in turn.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
)

func main() {
	routes := flag.Int("routes", 5_000, "how `MANY` routes, with a policy each")
	changes := flag.Int("changes", 21, "how `MANY` changes each limpet takes")
	flag.Parse()
	if err := run(*routes, *changes, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run measures the limpets that are named as NAME=PATH.
func run(routes, changes int, named []string) error {
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	var all []*contestant
	for _, n := range named {
		name, path, _ := strings.Cut(n, "=")
		c, err := start(name, path, routes, strings.TrimPrefix(backend.URL, "http://"))
		if c != nil {
			defer c.stop()
		}
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for n := range changes {
		for _, at := range rand.Perm(len(all)) {
			route := 1 + rand.IntN(routes-1) //nolint:gosec // which one, is no secret
			if err := all[at].measure(n, route); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d routes, %d changes of a policy; milliseconds, median (least, greatest)\n\n", routes, changes)
	fmt.Println("| limpet | from saved to live | longest wait of a steady client | Envoy's main thread | its other threads | limpet |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for _, c := range all {
		fmt.Println(c.row())
	}
	return nil
}
