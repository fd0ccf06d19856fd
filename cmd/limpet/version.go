package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by "make build" (-ldflags "-X main.version=..."). Without it the Go module's version counts.
var version string

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of limpet, its filter and Go",
		Long: `version prints limpet's version, the SHA-256 and size of each filter inside this
program (compare it with the file that Envoy loads), and the version of Go that
built it.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return printVersion(c.OutOrStdout())
		},
	}
}

func printVersion(out io.Writer) error {
	lines := fmt.Sprintf("limpet %s\n%s %s\n", programVersion(), wasmName, filterVersion(wasmName))
	for _, arch := range nativeArchs {
		if name := nativeName(arch); isEmbedded(name) {
			lines += fmt.Sprintf("%s %s\n", name, filterVersion(name))
		}
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

// filterVersion identifies an embedded filter by its content, of which it needs no copy as a whole.
func filterVersion(name string) string {
	module, err := filterFiles.Open("filters/" + name)
	if err != nil {
		return "(not built in; run 'make build')"
	}
	defer func() { _ = module.Close() }()
	sum := sha256.New()
	size, err := io.Copy(sum, module)
	if err != nil {
		return "(unreadable: " + err.Error() + ")"
	}
	return fmt.Sprintf("sha256:%x, %d bytes", sum.Sum(nil), size)
}
