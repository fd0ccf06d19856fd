// Command run measures how long a change of a file takes until "limpet run" has it live: of a session policy, a route
// and an endpoint. Limpets that are named take turns, each with an Envoy of its own, on the same routes.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

func main() {
	routes := flag.Int("routes", 5_000, "how `MANY` routes, with a policy each")
	changes := flag.Int("changes", 21, "how `MANY` changes of each kind")
	flag.Parse()
	if err := run(*routes, *changes, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run measures the limpets that are named as NAME=PATH, with flags of "limpet run" after that.
func run(routes, changes int, named []string) error {
	var all []*contestant
	for _, n := range named {
		name, command, _ := strings.Cut(n, "=")
		c, err := start(name, strings.Fields(command), routes)
		if c != nil {
			defer c.stop()
		}
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	order := rand.Perm(routes - 1) // each route is changed once
	for n := range changes {
		for _, at := range rand.Perm(len(all)) {
			for i, k := range kinds {
				if err := all[at].measure(k, n, 1+order[n*len(kinds)+i]); err != nil {
					return err
				}
			}
		}
	}
	fmt.Printf(
		"%d routes, %d changes of each kind; milliseconds from saved to live, median (least, greatest)\n\n",
		routes,
		changes,
	)
	fmt.Println("| limpet | a session policy | a route | an endpoint |")
	fmt.Println("|---|---:|---:|---:|")
	for _, c := range all {
		fmt.Printf("| %s |", c.name)
		for _, k := range kinds {
			fmt.Printf(" %s |", summarize(c.took[k]))
		}
		fmt.Println()
	}
	return nil
}

func summarize(took []time.Duration) string {
	slices.Sort(took)
	return fmt.Sprintf(
		"%d (%d, %d)",
		took[len(took)/2].Milliseconds(),
		took[0].Milliseconds(),
		took[len(took)-1].Milliseconds(),
	)
}
