package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The ports that the example's documents name.
const (
	// Port is the Gateway's.
	Port = 10443
	// firstBackend is that of the first backend; the others follow it.
	firstBackend = 18181
)

// Documents are those in a folder, with another port for the Gateway, and other ones for the backends in their order:
// one for each EndpointSlice.
func Documents(dir string, port int, backends []int) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return "", fmt.Errorf("no YAML files in %s (%w)", dir, err)
	}
	var all []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		all = append(all, string(text))
	}
	text := strings.Join(all, "---\n")
	numbers := map[int]int{Port: port}
	for i, p := range backends {
		numbers[firstBackend+i] = p
	}
	var pairs []string
	for was, is := range numbers {
		if !strings.Contains(text, "port: "+strconv.Itoa(was)) {
			return "", fmt.Errorf("the documents in %s have no port %d", dir, was)
		}
		pairs = append(pairs, "port: "+strconv.Itoa(was), "port: "+strconv.Itoa(is))
	}
	return strings.NewReplacer(pairs...).Replace(text), nil
}
