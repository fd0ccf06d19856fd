package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/gctune"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
)

// inputFlags say what to read and how to understand it. Each command that reads objects registers those that mean
// something to it.
type inputFlags struct {
	paths    []string
	bind     string
	share    bool
	external []string
	// kustomizations are folders that are built.
	kustomizations []string
	zone           string
	budget         int // MiB of routes
	policies       policyFlags
	kinds          kindFlags
	// once are the sources that are read once and for all.
	once []compiler.Source
	// elsewhere says that the objects do not come from files.
	elsewhere bool
	// subject is that of registerForSessions.
	subject string
	// listing, of commands that have it, says that they are an API server's.
	listing *listingFlags
}

// registerPlace registers what is different from one place at which Envoys run to the next.
func (f *inputFlags) registerPlace(flags *pflag.FlagSet) {
	flags.StringVar(&f.bind, "bind", compiler.DefaultBind, "IP `ADDRESS` for Gateways without addresses")
	flags.StringVar(&f.zone, "zone", "",
		"`ZONE` that Envoy runs in, for Services that prefer near endpoints;\nwithout it all endpoints are alike")
	flags.BoolVar(&f.kinds.allowEmpty, "allow-empty", false, "let an input pass of which nothing is served")
}

// registerShared registers what objects may have of what others have too.
func (f *inputFlags) registerShared(flags *pflag.FlagSet) {
	flags.BoolVar(
		&f.share,
		"share-addresses",
		false,
		"let Gateways of different namespaces share an address and port;\nelse it is the first one's, and those that it "+
			"allows",
	)
	flags.StringSliceVar(
		&f.external,
		"external-names",
		nil,
		"let routes lead to hosts behind DNS `NAMES`: NAME, *.NAME or *, by\nExternalName Services and EndpointSlices with "+
			"names (default none)",
	)
}

// registerLimits registers which inputs are refused, for commands that judge one.
func (f *inputFlags) registerLimits(flags *pflag.FlagSet) {
	flags.BoolVar(&f.kinds.strictKinds, "strict-kinds", false, "refuse documents of kinds that limpet does not read")
	f.registerBudget(flags)
}

func (f *inputFlags) registerBudget(flags *pflag.FlagSet) {
	flags.IntVar(&f.budget, "route-budget", 0,
		"lay out `MIB` of routes at most, two fifths of it for each Gateway and each\n"+
			"namespace of routes (default 40; limpet serve: 4 % of its memory)")
}

// registerSources registers what says where the objects are, and whose they are.
func (f *inputFlags) registerSources(flags *pflag.FlagSet) {
	f.registerFiles(flags)
	flags.StringArrayVarP(&f.kustomizations, "kustomize", "k", nil,
		"build the kustomization in `DIR`, as kubectl does; may be repeated")
	f.kinds.register(flags)
}

// registerForSessions is for commands that look for sessions, in files or in a cluster: all that may have them. subject
// says where that is which a session is looked for by, for who gives it with -f.
func (f *inputFlags) registerForSessions(flags *pflag.FlagSet, subject string) {
	f.subject = subject
	f.registerFiles(flags)
	f.kinds.register(flags)
	f.registerListing(flags)
	f.kinds.assumeClass, f.kinds.allowEmpty, f.share = true, true, true
}

// registerFiles registers where the objects are.
func (f *inputFlags) registerFiles(flags *pflag.FlagSet) {
	f.bind, f.policies = compiler.DefaultBind, defaultPolicies
	flags.SortFlags = false
	flags.StringArrayVarP(&f.paths, "file", "f", nil,
		"read `PATH`: a file, a folder (all *.yaml, *.yml, *.json below it), a pattern,\n"+
			"several of these with commas, a URL or - for standard input"+bareFiles)
}

// bareFiles is said of -f by commands whose arguments are files of objects too.
const bareFiles = "; -f may be left out"

// forgetBareFiles is for commands whose argument is something else.
func forgetBareFiles(flags *pflag.FlagSet) {
	file := flags.Lookup("file")
	file.Usage = strings.TrimSuffix(file.Usage, bareFiles)
}

// has tells whether files are named.
func (f *inputFlags) has() bool { return len(f.paths)+len(f.kustomizations) > 0 }

// checkFlags is a cobra argument check: arguments are paths too.
func (f *inputFlags) checkFlags(c *cobra.Command, args []string) error {
	if f.listing != nil && f.listing.isWanted(f.has()) {
		if f.has() || len(args) > 0 {
			return usagef("--kubeconfig, --context and -A exclude -f: objects come from an API server, or from files")
		}
		f.elsewhere, f.listing.stderr = true, c.ErrOrStderr()
	}
	f.paths = append(f.paths, args...)
	if !f.has() && !f.elsewhere {
		return usagef("name files or folders, such as '%s routes/'; see '%[1]s --help'", c.CommandPath())
	}
	if _, err := netip.ParseAddr(f.bind); err != nil {
		return usagef("--bind %q: must be an IP address, such as 127.0.0.1", f.bind)
	}
	if f.budget < 0 {
		return usagef("--route-budget %d: must not be less than 0, which is for the default", f.budget)
	}
	for _, name := range f.external {
		if !compiler.IsNamePattern(name) {
			return usagef("--external-names %q: must be a DNS name, \"*.\" and a DNS name, or \"*\"", name)
		}
	}
	if err := f.kinds.checkFlags(); err != nil {
		return err
	}
	return f.policies.checkFlags()
}

// set puts the flags into a compilation's options.
func (f *inputFlags) set(o *compiler.Options) {
	o.ShareAddresses, o.ExternalNames, o.Zone, o.RouteBudget = f.share, f.external, f.zone, f.budget<<20
	f.kinds.set(o)
	f.policies.set(o)
}

// memoryPerBudget is how much of the memory that a server has is for a megabyte of routes: of a gigabyte 40.
const memoryPerBudget = (1 << 30) / compiler.DefaultRouteBudget

// fitBudget fits the budget to the memory that there is, unless the user says what it is.
func (f *inputFlags) fitBudget(memory int64) {
	if f.budget == 0 && memory > 0 {
		f.budget = max(1, int(memory/memoryPerBudget>>20))
	}
}

// readSources reads files and folders, and gives the heap what their size needs.
func (f *inputFlags) readSources(stdin io.Reader) ([]compiler.Source, error) {
	sources, err := inputfiles.Read(f.paths, stdin)
	for _, dir := range f.kustomizations {
		built, failed := inputfiles.ReadKustomization(dir)
		sources, err = append(sources, built), errors.Join(err, failed)
	}
	sources = append(sources, f.once...)
	if f.isListed() {
		listed, failed := f.readListed()
		sources, err = append(sources, listed...), errors.Join(err, failed)
	}
	size := 0
	for _, s := range sources {
		size += len(s.Data)
	}
	gctune.ForInput(size)
	return sources, err
}

// readSessions reads what an input says of sessions.
func (f *inputFlags) readSessions(stdin io.Reader, target string) (*compiler.Sessions, error) {
	sources, err := f.readSources(stdin)
	if err != nil {
		return nil, err
	}
	sessions, err := compiler.ReadSessions(sources, f.checkOptions(target))
	if err == nil && sessions.Empty && f.has() {
		err = fmt.Errorf("-f %s: no object of a kind that limpet serves: -f names objects; %s",
			message.MakePrintable(strings.Join(f.paths, ",")), f.subject)
	}
	return sessions, err
}

// checkWatchable refuses what does not show when it changes.
func (f *inputFlags) checkWatchable() error {
	switch at := slices.IndexFunc(f.paths, inputfiles.IsURL); {
	case slices.Contains(f.paths, inputfiles.Stdin):
		return usagef("limpet serve can't watch the standard input: name files or folders")
	case at >= 0:
		return usagef("limpet serve can't watch URLs: name files or folders")
	case len(f.kustomizations) > 0:
		return usagef("limpet serve can't watch a kustomization, which may be made of files anywhere: " +
			"build it into a folder, and name that with -f")
	}
	return nil
}
