package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// deployment is what "limpet run" runs Envoy on.
type deployment struct {
	files []atomicfile.File
	// hot and keeper are there with --watch only.
	hot    *hot
	keeper *keeper
	said   *envoyproc.Rejections
}

// deploy compiles for a folder that is not there yet.
func (rc *runCommand) deploy(c *cobra.Command, dir string) (*deployment, *compiler.Result, error) {
	if !rc.watch {
		wasmPath, err := rc.wasmPathUnder(dir)
		if err != nil {
			return nil, nil, err
		}
		result, err := rc.compile(c, compiler.TargetEnvoy, wasmPath)
		return &deployment{}, result, err
	}
	h, err := newHot(&rc.input, rc.hotFlags, dir, "")
	if err != nil {
		return nil, nil, err
	}
	d := &deployment{hot: h, said: envoyproc.NewRejections(c.ErrOrStderr())}
	h.publisher.Admin, h.publisher.Reason, h.free = rollout.Admin(rc.admin), d.said.Since, envoyproc.CheckFree
	d.keeper = rc.newKeeper(c.ErrOrStderr())
	d.keeper.compile, d.keeper.apply = h.compile, h.apply
	result, err := d.keeper.first()
	if err != nil {
		return nil, nil, err
	}
	h.live, h.publisher.Folder.Mode = result.Discovery, rc.keys.fileMode(result)
	return d, result, nil
}

// write puts everything into the folder.
func (d *deployment) write(dir string) error {
	if d.hot != nil {
		if err := d.hot.publisher.Start(d.hot.live); err != nil {
			return err
		}
	}
	return atomicfile.WriteAll(dir, d.files)
}

// stderr is where Envoy's log goes.
func (d *deployment) stderr(to io.Writer) io.Writer {
	if d.said == nil {
		return to
	}
	return d.said
}

// follow lets changes of the input reach the Envoy that starts now. The function that it gives ends that.
func (d *deployment) follow() (end func()) {
	if d.keeper == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if d.hot.ready(ctx) {
			fmt.Fprintln(d.keeper.stderr, "limpet: serving; changes of the input reach Envoy as they come")
			d.keeper.keep(ctx)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ready waits until Envoy serves.
func (h *hot) ready(ctx context.Context) bool {
	for !h.publisher.Admin.Ready(ctx) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}
