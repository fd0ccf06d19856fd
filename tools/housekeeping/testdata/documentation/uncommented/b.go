//go:build linux

package uncommented
