package main

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/kubernetes"
)

// clusterFlags say which API server's objects are followed.
type clusterFlags struct {
	kubeconfig string
	namespace  string
	statuses   bool
	grace      time.Duration // how long a Gateway stays Programmed without an Envoy
	manage     bool          // proxies, too
	controller string        // whose classes' Gateways are served
	pool       string
	keys, root string // names of Secrets
	rotate     string
	rotateKeys time.Duration // what rotate says
	// faults say why the objects, and the keys, are not what the API server has now.
	faults []func() kubernetes.Fault
	// given is which addresses Gateways have that their specs do not name.
	given func() kubernetes.Given
	// ending waits for goroutines that have something to do when the process ends.
	ending sync.WaitGroup
}

func (f *clusterFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "",
		"`FILE` that says how to reach an API server, instead of -f;\nwithout either, in a Pod, that of its cluster")
	flags.StringVar(&f.pool, "address-pool", "",
		"give each Gateway of the cluster that names no address one of `PREFIX`, such as 10.0.9.0/24, instead of --bind")
	flags.StringVar(
		&f.rotate,
		"rotate-keys",
		"",
		"put a fresh key into the Secret of --keys after each such `TIME`, as 30d or 12h; the one before verifies until no "+
			"session needs it",
	)
	flags.BoolVar(&f.statuses, "write-status", true, "write what becomes of objects into their statuses")
	flags.DurationVar(&f.grace, "programmed-grace", controller.DefaultGrace,
		"how long a Gateway stays Programmed after its last Envoy has gone, or its listeners\nhave changed")
}

// isWanted tells whether the objects are those of an API server.
func (f *clusterFlags) isWanted(paths []string) bool {
	return f.kubeconfig != "" || len(paths) == 0 && os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

func (f *clusterFlags) checkFlags(paths []string) error {
	switch {
	case f.kubeconfig != "" && len(paths) > 0:
		return usagef("--kubeconfig and -f exclude each other: objects come from an API server, or from files")
	case f.keys+f.root != "" && !f.isWanted(paths):
		return usagef("--keys and --root with secret/NAME need an API server: name one with --kubeconfig; " +
			"a file of that name is ./secret/NAME")
	case f.pool != "" && !f.isWanted(paths):
		return usagef("--address-pool needs an API server, whose Gateways' statuses say who has which address")
	case f.pool != "" && !isPrefix(f.pool):
		return usagef("--address-pool %q: must be a prefix, such as 10.0.9.0/24", f.pool)
	default:
		return f.checkKeys()
	}
}

// checkKeys checks the flags that go with the Secret of keys.
func (f *clusterFlags) checkKeys() error {
	switch {
	case f.root != "" && f.keys == "":
		return usagef("--root secret/%s needs --keys secret/NAME, whose ring is sealed under it", f.root)
	case f.rotate != "" && f.keys == "":
		return usagef("--rotate-keys needs --keys secret/NAME: a file of keys is rotated by 'limpet keygen --add-to'")
	case f.rotate != "":
		return f.parseRotation()
	default:
		return nil
	}
}

// takeSecret takes the name of a Secret out of a flag that may name a file.
func takeSecret(flag *string) (name string) {
	name, is := strings.CutPrefix(*flag, "secret/")
	if !is || name == "" {
		return "" // what names nothing stays, and is refused as a file
	}
	*flag = ""
	return name
}

func isPrefix(text string) bool {
	_, err := netip.ParsePrefix(text)
	return err == nil
}

// minRotation is the least time between two keys, so that all proxies have one before the next comes.
const minRotation = 4 * time.Hour

func (f *clusterFlags) parseRotation() (err error) {
	if days, is := strings.CutSuffix(f.rotate, "d"); is {
		var n int
		n, err = strconv.Atoi(days)
		f.rotateKeys = time.Duration(n) * 24 * time.Hour
	} else {
		f.rotateKeys, err = time.ParseDuration(f.rotate)
	}
	if err != nil || f.rotateKeys < minRotation || f.rotateKeys > 3650*24*time.Hour {
		return usagef("--rotate-keys %q: must be a time from 4h to 3650d, such as 30d", f.rotate)
	}
	return nil
}

// load says how to reach the API server.
func (f *clusterFlags) load() (config *rest.Config, err error) {
	if f.kubeconfig != "" {
		config, _, err = connect(f.kubeconfig, "")
		return config, err
	}
	if config, err = rest.InClusterConfig(); err != nil {
		return nil, err
	}
	setClient(config)
	return config, nil
}
