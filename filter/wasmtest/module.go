package wasmtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// maxPages bounds a guest's memory to 1 GiB, as Envoy does. A page has 64 KiB.
const maxPages = 1 << 14

// Module is a compiled plugin. Compiling takes long and starting a VM does not, so load once and start many.
// It is safe for concurrent use.
type Module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// Load reads and compiles the plugin in the file path. It fails when the file is no proxy-wasm 0.2 reactor.
func Load(path string) (*Module, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := compile(context.Background(), wasm)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func compile(ctx context.Context, wasm []byte) (*Module, error) {
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPages))
	m := &Module{runtime: r}
	err := m.prepare(ctx, wasm)
	if err != nil {
		return nil, errors.Join(err, r.Close(ctx))
	}
	return m, nil
}

// prepare compiles the plugin together with the two modules that it may import from.
func (m *Module) prepare(ctx context.Context, wasm []byte) (err error) {
	if _, err = wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return err
	}
	if err = exportHostCalls(ctx, m.runtime); err != nil {
		return err
	}
	if m.compiled, err = m.runtime.CompileModule(ctx, wasm); err != nil {
		return err
	}
	return m.checkExports()
}

// checkExports finds what Envoy would refuse at load.
func (m *Module) checkExports() error {
	exports := m.compiled.ExportedFunctions()
	for _, name := range []string{"_initialize", "proxy_on_memory_allocate"} {
		if exports[name] == nil {
			return fmt.Errorf("no export %q", name)
		}
	}
	if exports["proxy_abi_version_0_2_0"] == nil && exports["proxy_abi_version_0_2_1"] == nil {
		return errors.New("no export that says proxy-wasm ABI 0.2")
	}
	if m.compiled.ExportedMemories()["memory"] == nil {
		return errors.New("no exported memory")
	}
	return nil
}

// Exports lists the names of the exported functions, sorted.
func (m *Module) Exports() []string {
	var names []string
	for name := range m.compiled.ExportedFunctions() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Imports lists the imported functions as "module.name", sorted.
func (m *Module) Imports() []string {
	var names []string
	for _, f := range m.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		names = append(names, module+"."+name)
	}
	slices.Sort(names)
	return names
}

// exportHostCalls offers the host calls to every VM of the runtime.
func exportHostCalls(ctx context.Context, r wazero.Runtime) error {
	env := r.NewHostModuleBuilder("env")
	for _, c := range hostCalls {
		env.NewFunctionBuilder().
			WithGoFunction(c.bind(), c.params, []api.ValueType{api.ValueTypeI32}).
			Export(c.name)
	}
	_, err := env.Instantiate(ctx)
	return err
}
