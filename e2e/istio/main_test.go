package istio

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"istio.io/istio/pkg/log"
)

// switches are what Istio reads of its environment when its packages are loaded. Without them it puts filters into
// Envoy's configuration that only its own build has.
var switches = map[string]string{"PILOT_ENABLE_METADATA_EXCHANGE": "false", "PILOT_ENABLE_ALPN_FILTER": "false"}

// shipped are the paths of what is tested and what it runs on.
var shipped = struct{ limpet, wasm, native, envoy string }{}

// root is a root secret of tests.
const root = "istio:dGVzdC1yb290LXRlc3Qtcm9vdC10ZXN0LXJvb3QtdGVzdC1yb290"

func TestMain(m *testing.M) {
	if os.Getenv("PILOT_ENABLE_ALPN_FILTER") != "false" {
		for name, value := range switches {
			os.Setenv(name, value)
		}
		fail(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	options := log.DefaultOptions()
	options.SetDefaultOutputLevel("default", log.NoneLevel)
	options.SetDefaultOutputLevel("all", log.NoneLevel)
	fail(log.Configure(options))
	shipped.limpet = mustFind(filepath.Join("..", "..", "bin", "limpet"))
	shipped.wasm = mustFind(filepath.Join("..", "..", "dist", "limpet.wasm"))
	shipped.native = mustFind(filepath.Join("..", "..", "dist", "liblimpet.so"))
	shipped.envoy = mustFind(os.Getenv("ENVOY"))
	os.Setenv("LIMPET_ROOT", root) // limpet seals the tests' keys, and gateways open them
	os.Exit(m.Run())
}

func mustFind(path string) string {
	whole, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(whole)
	}
	if err == nil && path == "" {
		err = fmt.Errorf("ENVOY is not set")
	}
	if err != nil {
		fail(fmt.Errorf("%w; 'make e2e-istio' does all of the set-up", err))
	}
	return whole
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/istio:", err)
		os.Exit(1)
	}
}
