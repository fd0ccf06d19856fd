package livereload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// readMemory reads what a file remembers. Without a file, or before it is there, that is nothing; likewise with the error for
// one that can't be read.
func readMemory[K comparable, V any](file string) (map[K]V, error) {
	if file == "" {
		return map[K]V{}, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[K]V{}, nil
	}
	remembered := map[K]V{}
	if err == nil {
		err = json.Unmarshal(text, &remembered)
	}
	if err != nil {
		return map[K]V{}, fmt.Errorf("%s: %w", file, err)
	}
	return remembered, nil
}
