package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// discoveryFolder is the folder, beside envoy.yaml, of what Envoy discovers.
const discoveryFolder = "discovery"

// defaultEndpointFiles leaves room for five Envoys of one user among the 128 inotify instances that Linux gives each.
const defaultEndpointFiles = 16

// maxEndpointFiles bounds what --endpoint-files may ask for.
const maxEndpointFiles = 100_000

// patience is how long Envoy may take over a step of a change: seconds for thousands of clusters or policies.
const patience = time.Minute

// hotFlags say whether and how configuration changes while Envoy runs.
type hotFlags struct {
	watch         bool
	endpointFiles int
}

func (h *hotFlags) register(f *pflag.FlagSet, usage string) {
	f.BoolVar(&h.watch, "watch", false, usage)
	f.IntVar(&h.endpointFiles, "endpoint-files", defaultEndpointFiles, "with --watch: up to `N` clusters, each has a file for its endpoints")
}

// check refuses flags that make no sense together.
func (h *hotFlags) check(f *pflag.FlagSet, in *input) error {
	switch {
	case !h.watch && f.Changed("endpoint-files"):
		return usagef("--endpoint-files needs --watch")
	case !h.watch:
		return nil
	case h.endpointFiles < 0 || h.endpointFiles > maxEndpointFiles:
		return usagef("--endpoint-files %d: must be 0 to %d", h.endpointFiles, maxEndpointFiles)
	}
	for _, path := range in.paths {
		if path == inputfiles.Stdin {
			return usagef("--watch can't watch the standard input: name files or folders")
		}
	}
	return nil
}

// hot is an Envoy configuration that changes while Envoy runs.
type hot struct {
	in        *input
	dir       string // of envoy.yaml
	wasmPath  string
	files     int
	publisher rollout.Publisher
	live      *envoy.Discovery
	draining  *livereload.Draining
	// free, if it is there, makes sure that Envoy can listen on addresses.
	free func([]envoyproc.Address) error
}

// newHot makes one for a folder that is there, or will be. Since when hosts terminate is kept in a file, if one is named.
func newHot(in *input, flags hotFlags, dir, memory string) (*hot, error) {
	wasmPath, err := in.wasmPathUnder(dir)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Join(dir, discoveryFolder))
	if err != nil {
		return nil, err
	}
	draining, err := livereload.NewDraining(memory)
	return &hot{in: in, dir: dir, wasmPath: wasmPath, files: flags.endpointFiles, draining: draining, publisher: rollout.Publisher{
		Folder: rollout.Folder{Path: folder}, Patience: patience,
	}}, err
}

// compile compiles, and remembers which hosts terminate.
func (h *hot) compile(m material) (*compiler.Result, error) {
	o := h.in.compileOptions(m, compiler.TargetEnvoy, h.wasmPath)
	o.Time = time.Now()
	o.Hot = &compiler.Hot{Folder: h.publisher.Folder.Path, EndpointFiles: h.files, Draining: h.draining.Since}
	result, err := compiler.Compile(m.sources, o)
	if err != nil {
		return nil, err
	}
	return result, h.draining.See(result.Draining, o.Time)
}

// apply brings Envoy to a new configuration.
func (h *hot) apply(ctx context.Context, since time.Time, result *compiler.Result) (string, error) {
	if err := h.checkFree(result.Discovery); err != nil {
		return "", err
	}
	summary := rollout.Summary(rollout.Changes(h.live, result.Discovery))
	h.publisher.Folder.Mode = h.in.keys.fileMode(result)
	confirmed, err := h.publisher.Publish(ctx, h.live, result.Discovery)
	if err != nil && !errors.Is(err, rollout.ErrLeftover) {
		return "", err
	}
	h.live = result.Discovery
	switch {
	case err != nil:
		return fmt.Sprintf("live %s: %s; but %v", within(since), summary, err), nil
	case !confirmed:
		return fmt.Sprintf("written %s, which no Envoy has confirmed: %s", within(since), summary), nil
	default:
		return fmt.Sprintf("live %s: %s", within(since), summary), nil
	}
}

// within says how long something has taken since it was first seen to be due.
func within(since time.Time) string { return fmt.Sprintf("in %d ms", time.Since(since).Milliseconds()) }

// checkFree tries the addresses that the live configuration does not have.
func (h *hot) checkFree(next *envoy.Discovery) error {
	if h.free == nil {
		return nil
	}
	taken := map[string]bool{}
	for _, l := range h.live.Listeners {
		taken[l.Name] = true
	}
	var fresh []envoy.Resource
	for _, l := range next.Listeners {
		if !taken[l.Name] {
			fresh = append(fresh, l)
		}
	}
	return h.free(envoyproc.ListenerAddresses(fresh))
}
