package wasmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// rootID is the id of the plugin's root context. Streams count on from it.
const rootID = 1

var errRefused = errors.New("the plugin refused its configuration")

// defaultNow is the wall clock of a VM without Options.Now.
var defaultNow = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Options is what a plugin starts with. The zero value is a plugin without configuration.
type Options struct {
	// Config is the plugin configuration.
	Config []byte
	// Env holds the environment variables that the guest sees, such as LIMPET_KEYS.
	Env map[string]string
	// Now is the wall clock that the guest sees. Without it, it is always the start of 2026.
	Now func() time.Time
	// Rand is the source of random bytes. Without it they are the same in every VM: good for tests and nothing else.
	Rand io.Reader
	// Shared is the data that it shares with other VMs. Without it, it shares none.
	Shared *Shared
}

// VM is a running plugin. It is not safe for concurrent use; start one for each goroutine.
type VM struct {
	module api.Module
	mem    api.Memory
	guest  guest
	ctx    *callContext
	config []byte

	stack      [4]uint64 // parameters and result of a callback
	allocStack [1]uint64 // the same for a buffer, which the guest gives in the middle of a callback

	phase   phase
	current *Stream   // whose callback runs; nil for the root context
	open    []*Stream // streams that the guest knows
	lastID  uint32
	path    []byte // a property's path, joined: kept between calls for its capacity

	logs    []Log
	metrics metrics
	shared  *Shared
	err     error // the first trap
}

// phase is how far the start of a VM has come.
type phase uint8

const (
	initializing phase = iota // only logging is allowed
	configuring               // the plugin configuration is readable
	running
)

// callContext carries the VM through wazero to the host calls.
type callContext struct {
	context.Context
	vm *VM
}

// Start runs a new VM up to the point where it can take requests. When the plugin traps or refuses its configuration,
// the error has everything that it logged.
func (m *Module) Start(ctx context.Context, o Options) (*VM, error) {
	vm := &VM{lastID: rootID, config: o.Config, shared: o.Shared}
	vm.ctx = &callContext{ctx, vm}
	module, err := m.runtime.InstantiateModule(ctx, m.compiled, vm.moduleConfig(o))
	if err != nil {
		return nil, err
	}
	vm.module, vm.mem, vm.guest = module, module.Memory(), bindGuest(module)
	if err := vm.start(); err != nil {
		vm.Close()
		return nil, fmt.Errorf("%w%s", err, logText(vm.logs))
	}
	return vm, nil
}

func (vm *VM) moduleConfig(o Options) wazero.ModuleConfig {
	now := o.Now
	if now == nil {
		now = func() time.Time { return defaultNow }
	}
	wall := func() (int64, int32) { t := now(); return t.Unix(), int32(t.Nanosecond()) }
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdout(stdio{vm, LevelInfo}).WithStderr(stdio{vm, LevelError}).
		WithWalltime(wall, sys.ClockResolution(time.Microsecond))
	if o.Rand != nil {
		c = c.WithRandSource(o.Rand)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		c = c.WithEnv(name, o.Env[name])
	}
	return c
}

// start makes the calls of proxy-wasm-cpp-host's WasmBase::initialize, start and configure.
func (vm *VM) start() error {
	if _, err := vm.call(nil, &vm.guest.initialize); err != nil {
		return err
	}
	vm.phase = configuring
	if _, err := vm.call(nil, &vm.guest.contextCreate, rootID, 0); err != nil {
		return err
	}
	ok, err := vm.call(nil, &vm.guest.vmStart, rootID, 0)
	if err == nil && ok != 0 {
		ok, err = vm.call(nil, &vm.guest.configure, rootID, uint64(len(vm.config)))
	}
	if err == nil && ok == 0 {
		err = errRefused
	}
	vm.phase = running
	return err
}

// Logs returns what the guest logged since the start, oldest first.
func (vm *VM) Logs() []Log {
	return slices.Clone(vm.logs)
}

// Counters returns the value of every counter that the guest defined. Envoy puts "wasmcustom." before the names.
func (vm *VM) Counters() map[string]uint64 {
	values := map[string]uint64{}
	for name, value := range vm.metrics.named[counter] {
		values[name] = *value
	}
	return values
}

// Gauges returns the value of every gauge that the guest defined.
func (vm *VM) Gauges() map[string]int64 {
	values := map[string]int64{}
	for name, value := range vm.metrics.named[gauge] {
		values[name] = int64(*value)
	}
	return values
}

// MemoryBytes is the size of the guest's linear memory. It never shrinks.
func (vm *VM) MemoryBytes() uint32 {
	return vm.mem.Size()
}

// Err is the trap that ended the VM, or nil. Nothing is called in the guest after it.
func (vm *VM) Err() error {
	return vm.err
}

// Done tells the guest that its root context goes away, as Envoy does before it drops a VM or loads a new
// configuration.
func (vm *VM) Done() {
	if ok, err := vm.call(nil, &vm.guest.done, rootID); err == nil && ok != 0 {
		_, _ = vm.call(nil, &vm.guest.delete, rootID) // Err has a trap
	}
}

// Close frees the guest's memory without telling the guest.
func (vm *VM) Close() {
	_ = vm.module.Close(context.Background())
}

func (vm *VM) log(level Level, text string) {
	vm.logs = append(vm.logs, Log{level, text})
}
