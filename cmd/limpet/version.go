package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by "make build" (-ldflags "-X main.version=..."). Without it the Go module's version counts.
var version string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of limpet, its filter and Go, with all digests",
		Long: `version prints limpet's version, and what to compare with a release's SHA256SUMS:
the SHA-256 of this program, the SHA-256 and size of each filter inside it
(compare it with the file that Envoy loads), the digest of the filter's image as
'limpet image' makes it; and the version of Go that built it.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return printVersion(c.OutOrStdout())
		},
	}
}

func printVersion(out io.Writer) error {
	lines := fmt.Sprintf(
		"limpet %s\nprogram %s\n%s %s\n",
		programVersion(),
		digestProgram(),
		wasmName,
		filterVersion(wasmName),
	)
	for _, arch := range nativeArchs {
		for _, name := range []string{nativeName(arch), embeddedShard(arch)} {
			if isEmbedded(name) {
				lines += fmt.Sprintf("%s %s\n", name, filterVersion(name))
			}
		}
	}
	if image, err := makeImage(); err == nil {
		digest, err := image.Digest()
		if err != nil {
			return err
		}
		lines += fmt.Sprintf("filter image %s\n", digest)
	}
	_, err := fmt.Fprintf(out, "%s%s %s/%s\n", lines, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// programVersion is the version that the build gave, or the one that Go noted.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown version)"
}

// digestProgram identifies the file that runs.
func digestProgram() string {
	path, err := os.Executable()
	if err != nil {
		return "(unreadable: " + err.Error() + ")"
	}
	return digestFile(os.Open(path))
}

// filterVersion identifies an embedded filter by its content, of which it needs no copy as a whole.
func filterVersion(name string) string {
	if !isEmbedded(name) {
		return "(not built in; run 'make build')"
	}
	return digestFile(filterFiles.Open("filters/" + name))
}

// digestFile gives the SHA-256 and the size of a file that has just been opened.
func digestFile(file fs.File, err error) string {
	if err != nil {
		return "(unreadable: " + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "(unreadable: " + err.Error() + ")"
	}
	return fmt.Sprintf("sha256:%x, %d bytes", sum.Sum(nil), size)
}
