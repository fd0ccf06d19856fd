package main

import (
	"cmp"
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/message"
)

// listingFlags name an API server whose objects are read once.
type listingFlags struct {
	kubeconfig, context string
	all                 bool
	// namespace is the one whose objects are shown, once they are read; empty for all.
	namespace string
	stderr    io.Writer
	flags     *pflag.FlagSet // the command's
	// listing is what was read.
	listing *kubernetes.Listing
	// reading has the options and the memory of limpet serve; nil where it gave no answer.
	reading *reading
}

// registerListing gives a command's input these flags.
func (f *inputFlags) registerListing(flags *pflag.FlagSet) {
	f.listing = &listingFlags{}
	f.listing.register(flags)
}

// isListed tells whether the objects are an API server's, read once.
func (f *inputFlags) isListed() bool { return f.listing != nil && f.elsewhere }

func (l *listingFlags) register(flags *pflag.FlagSet) {
	l.flags = flags
	flags.StringVar(&l.kubeconfig, "kubeconfig", "",
		"read the objects of an API server once, which `FILE` says how to reach,\nin place of -f")
	flags.StringVar(&l.context, "context", "", "the same, with the context `NAME` of that file, or of kubectl's")
	flags.BoolVarP(
		&l.all,
		"all-namespaces",
		"A",
		false,
		"the same, with kubectl's own file and context, and show the objects of\nall namespaces (default: those of -n, or "+
			"the context's)",
	)
}

// isWanted tells whether the objects are an API server's: where it is named, or kubectl runs limpet and no file is
// named.
func (l *listingFlags) isWanted(hasFiles bool) bool {
	return l.kubeconfig != "" || l.context != "" || l.all || !hasFiles && isPlugin(os.Args[0])
}

// isNamed tells whether there is an input, of files or of an API server, for commands that have listing.
func (f *inputFlags) isNamed() bool { return f.has() || f.listing.isWanted(false) }

// isPlugin tells whether kubectl runs the program.
func isPlugin(program string) bool { return strings.HasPrefix(filepath.Base(program), "kubectl-") }

// listWithin is how long reading all objects may take. Tests don't wait for so long.
var listWithin = 30 * time.Second

// readListed reads the objects with the caller's rights, warns of kinds that it may not read, and takes over the
// options of limpet serve.
func (f *inputFlags) readListed() ([]compiler.Source, error) {
	l := f.listing
	config, own, err := connect(l.kubeconfig, l.context)
	if err != nil {
		return nil, err
	}
	l.namespace, config.Timeout = cmp.Or(f.kinds.namespace, own), listWithin
	ctx, stop := context.WithTimeout(context.Background(), listWithin)
	defer stop()
	if l.listing, err = kubernetes.List(ctx, config, l.namespace); err != nil {
		return nil, explainAPIServer(config.Host, err)
	}
	denied := l.listing.Denied
	for _, kind := range slices.Sorted(maps.Keys(denied)) {
		message.PrintWarning(
			l.stderr,
			"what hangs on objects of kind "+kind+" is unknown: "+message.MakePrintable(denied[kind]),
		)
	}
	if err := f.askServer(ctx, config); err != nil {
		return nil, err
	}
	if l.all {
		l.namespace = ""
	}
	return l.listing.Sources, nil
}

// askServer takes over the options and the memory of limpet serve in the cluster, and says whether it could.
func (f *inputFlags) askServer(ctx context.Context, config *rest.Config) error {
	l := f.listing
	replica, has, err := askReading(ctx, config, f.policies.classNamespace, f.kinds.controller)
	if err != nil {
		l.printUnasked(config.Host, err)
		return nil
	}
	f.takeOver(has.Options)
	if !l.isServed() {
		message.Printf(
			l.stderr,
			"these are the objects of %s by the options of 'limpet serve' in Pod %s; it serves Envoys of its own, "+
				"so that its options for these, and what it remembers of names and addresses, do not count with -t %s",
			config.Host,
			replica,
			l.target(),
		)
		return nil
	}
	l.reading = has
	message.Printf(
		l.stderr,
		"these are the objects of %s by the options and the memory of 'limpet serve' in Pod %s",
		config.Host,
		replica,
	)
	return l.listing.Readdress(has.Given)
}

// printUnasked says by whose options the answer is instead. Where limpet serve serves other proxies or none, it is no
// loss that it does not answer.
func (l *listingFlags) printUnasked(host string, err error) {
	why := message.MakePrintable(err.Error())
	if l.isServed() {
		message.Printf(
			l.stderr,
			"objects of %s; the options and the memory of 'limpet serve' are not known here: %s",
			host,
			why,
		)
		return
	}
	message.Printf(
		l.stderr,
		"objects of %s by the options of this command line, which should be those of 'limpet compile -t %s'; "+
			"no 'limpet serve' says others: %s",
		host,
		l.target(),
		why,
	)
}

// target is the command's target.
func (l *listingFlags) target() compiler.Target {
	if flag := l.flags.Lookup("target"); flag != nil {
		return compiler.Target(flag.Value.String())
	}
	return compiler.TargetEnvoy
}

// isServed tells whether the target's proxies are such as limpet serve has.
func (l *listingFlags) isServed() bool { return l.target() == compiler.TargetEnvoy }

// set puts what limpet serve knows into the options of a compilation.
func (l *listingFlags) set(o *compiler.Options) {
	o.AssumeAdmitted, o.AllowEmpty = true, true
	switch {
	case l.reading != nil:
		l.reading.Known.Set(o)
		o.LoggedHeaders, o.Envoy.Native = l.reading.Options.LoggedHeaders, l.reading.Options.Native
		o.Envoy.Served.Proxies = l.listing.Proxies
	case l.isServed():
		known := controller.Known{Nodes: l.listing.Nodes}
		known.Set(o)
	}
}
