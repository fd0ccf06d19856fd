package main

import (
	"context"
	"io"
	"os"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// deployment is what "limpet run" runs Envoy on.
type deployment struct {
	result *compiler.Result
	files  []atomicfile.File
	// log is where Envoy's own goes.
	log io.Writer
	// dynamic and reconciler are there with --watch only.
	dynamic    *livereload.Dynamic
	reconciler *livereload.Reconciler
	// failed is why Envoy was ended that had started.
	failed error
}

// deploy compiles for a folder that is not there yet.
func (rc *runCommand) deploy(c *cobra.Command, dir string) (*deployment, error) {
	d := &deployment{log: c.ErrOrStderr()}
	if rc.watch.on {
		return d, rc.deployDynamic(c, dir, d)
	}
	modulePath, err := rc.config.filter.pathUnder(dir)
	if err != nil {
		return nil, err
	}
	d.result, err = rc.compileUsable(c, modulePath)
	return d, err
}

// compileUsable compiles without the listeners for which this machine has no room, as long as some are left: the others are
// not to suffer from them.
func (rc *runCommand) compileUsable(c *cobra.Command, modulePath string) (*compiler.Result, error) {
	in, err := rc.config.read(c.InOrStdin(), c.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	o := rc.config.options(in, compiler.TargetEnvoy, modulePath)
	result, err := compiler.Compile(in.Sources, o)
	if err != nil {
		return nil, err
	}
	addresses, err := envoyproc.BootstrapAddresses(result.Main())
	if err != nil {
		return nil, err
	}
	listeners := slices.DeleteFunc(addresses, func(a envoyproc.Address) bool { return !a.IsListener() })
	unusable := envoyproc.FindUnusable(listeners)
	if len(unusable) == 0 || len(unusable) == len(listeners) {
		return result, nil // prepare says what is wrong with all of them
	}
	o.Envoy.Unusable = unusable
	return compiler.Compile(in.Sources, o)
}

// deployDynamic is deploy for an Envoy that takes changes over while it runs.
func (rc *runCommand) deployDynamic(c *cobra.Command, dir string, d *deployment) error {
	var err error
	if d.dynamic, err = rc.config.newDynamic(dir, &rc.watch, memory.New()); err != nil { // the folder does not outlive the run
		return err
	}
	rejections := envoyproc.NewRejections(c.ErrOrStderr())
	d.log = rejections
	d.dynamic.Publisher.Admin, d.dynamic.Publisher.Reason = rollout.Admin(rc.config.admin), rejections.Since
	d.dynamic.ProbePorts = true
	d.reconciler = rc.config.newReconciler(c.ErrOrStderr())
	d.reconciler.Output = d.dynamic
	d.dynamic.Publisher.Waiting = d.reconciler.Changes.Changed
	d.result, err = d.reconciler.Start()
	return err
}

// write puts everything into the folder.
func (d *deployment) write(dir string) error {
	if d.dynamic != nil {
		if err := d.dynamic.Start(d.result); err != nil {
			return err
		}
	}
	return atomicfile.WriteAll(dir, d.files)
}

// followInput lets changes of the input reach the Envoy that starts now, and ends that if it does not take the filter. The
// function that it gives ends it.
func (d *deployment) followInput(signals chan<- os.Signal) (end func()) {
	if d.dynamic == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !d.dynamic.WaitReady(ctx) {
			return
		}
		if err := d.dynamic.CheckFilter(ctx); err != nil && ctx.Err() == nil {
			d.failed = err
			signals <- syscall.SIGTERM
			return
		}
		message.Print(d.reconciler.Stderr, "serving; changes of the input reach Envoy as they come")
		d.reconciler.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
