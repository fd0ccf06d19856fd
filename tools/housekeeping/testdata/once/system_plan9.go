//go:build tinygo

package once

func system() {}
