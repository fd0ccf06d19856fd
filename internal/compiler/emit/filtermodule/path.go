// Package filtermodule has what all targets say in the same way of the file that has the filter: where it is, how Envoy
// loads it, and what it publishes is called.
package filtermodule

import (
	"errors"
	"fmt"
	"path"
)

// maxLength is how long Envoy Gateway lets a path be.
const maxLength = 4096

// CheckNativePath gives an error for a path of liblimpet.so at which a proxy finds nothing, and for one in addition to
// the URL of limpet.wasm.
func CheckNativePath(file, wasmURL string) error {
	switch {
	case wasmURL != "":
		return errors.New("wasm URL: Forbidden: the filter is the one at the native path")
	case !path.IsAbs(file) || path.Clean(file) != file || file == "/" || len(file) > maxLength:
		return fmt.Errorf("native path: Invalid value: %q: must be an absolute path of a file, as the proxies see it", file)
	}
	return nil
}
