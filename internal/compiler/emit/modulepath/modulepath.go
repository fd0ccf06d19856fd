// Package modulepath checks where other control planes' proxies find the native filter.
package modulepath

import (
	"errors"
	"fmt"
	"path"
)

// maxLength is how long Envoy Gateway lets a path be.
const maxLength = 4096

// Check gives an error for a path of liblimpet.so at which a proxy finds nothing, and for one in addition to the URL of limpet.wasm.
func Check(file, wasmURL string) error {
	switch {
	case wasmURL != "":
		return errors.New("wasm URL: Forbidden: the filter is the one at the native path")
	case !path.IsAbs(file) || path.Clean(file) != file || file == "/" || len(file) > maxLength:
		return fmt.Errorf("native path: Invalid value: %q: must be an absolute path of a file, as the proxies see it", file)
	}
	return nil
}
