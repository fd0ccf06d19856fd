package main

import (
	"context"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// drainingFile is where limpet keeps, beside envoy.yaml, since when hosts terminate.
const drainingFile = "draining.json"

// defaultPause is what an Envoy that can't be asked gets for each step of a change.
const defaultPause = 2 * time.Second

// checkWatch refuses flags that make no sense with --watch, or without.
func (cc *compileCommand) checkWatch(c *cobra.Command) error {
	switch {
	case cc.watch && cc.out == "":
		return usagef("--watch needs -o DIR")
	case !cc.watch && c.Flags().Changed("pause"):
		return usagef("--pause needs --watch")
	case cc.pause < 0:
		return usagef("--pause %v: must not be negative", cc.pause)
	default:
		return cc.hotFlags.check(c.Flags(), &cc.input)
	}
}

// keepUp compiles into the folder again and again until limpet is told to end. Nobody else writes there meanwhile: what
// is live is what this limpet wrote last.
func (cc *compileCommand) keepUp(c *cobra.Command) error {
	held, err := atomicfile.LockDir(cc.out)
	if err != nil {
		return err
	}
	defer held.Release()
	if held.Unlocked != nil {
		message.Print(c.ErrOrStderr(), fmt.Sprintf("%s can't be locked, so take care that no other limpet writes there: %v", cc.out, held.Unlocked))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	k := cc.newKeeper(c.ErrOrStderr())
	k.report = cc.writeReport
	start := cc.rewriting(k)
	if compiler.Target(cc.target) == compiler.TargetEnvoy {
		if start, err = cc.hot(ctx, c, k); err != nil {
			return err
		}
	}
	result, err := k.first()
	if err != nil {
		return err
	}
	message.PrintWarnings(c.ErrOrStderr(), result.Warnings)
	if err := start(result); err != nil {
		return err
	}
	cc.keys.printExposure(c.ErrOrStderr(), result, "the folder "+cc.out+" (files of mode 0600)")
	fmt.Fprintf(c.ErrOrStderr(), "limpet: %s is up to date; changes of the input reach it as they come\n", cc.out)
	k.keep(ctx)
	return nil
}

// rewriting lets a keeper write all files anew with every change.
func (cc *compileCommand) rewriting(k *keeper) (start func(*compiler.Result) error) {
	target := compiler.Target(cc.target)
	k.compile = func(m material) (*compiler.Result, error) {
		wasmPath, err := cc.wasmPathUnder(cc.out)
		if err != nil {
			return nil, err
		}
		return compiler.Compile(m.sources, cc.compileOptions(m, target, wasmPath))
	}
	write := func(r *compiler.Result) error {
		files, err := outputs(r, target, cc.keys.fileMode(r))
		if err != nil {
			return err
		}
		return atomicfile.WriteAll(cc.out, files)
	}
	k.apply = func(_ context.Context, since time.Time, r *compiler.Result) (string, error) {
		err := write(r)
		return "written " + within(since), err
	}
	return write
}

// hot lets a keeper write what Envoy discovers, one step after the other.
func (cc *compileCommand) hot(ctx context.Context, c *cobra.Command, k *keeper) (start func(*compiler.Result) error, err error) {
	h, err := newHot(&cc.input, cc.hotFlags, cc.out, filepath.Join(cc.out, drainingFile))
	if h == nil {
		return nil, err
	}
	if err != nil {
		message.Print(c.ErrOrStderr(), fmt.Sprintf("since when hosts terminate is not known, and begins now: %v", err))
	}
	h.publisher.Pause = cc.pause
	if c.Flags().Changed("admin") && cc.admin != compiler.NoAdmin {
		h.publisher.Admin, h.publisher.MayBeAway = rollout.Admin(cc.admin), true
	} else {
		fmt.Fprintf(c.ErrOrStderr(), "limpet: without --admin ADDRESS Envoy is not asked whether a change is live; each step of a change gets %v\n", cc.pause)
	}
	k.compile, k.apply = h.compile, h.apply
	return func(r *compiler.Result) error {
		files, err := outputs(r, compiler.TargetEnvoy, cc.keys.fileMode(r))
		if err != nil {
			return err
		}
		if err := h.resume(ctx, k, r); err != nil {
			return err
		}
		return atomicfile.WriteAll(cc.out, files)
	}, nil
}

// resume begins where an earlier limpet left the folder: an Envoy may be running on what is in there.
func (h *hot) resume(ctx context.Context, k *keeper, r *compiler.Result) error {
	h.publisher.Folder.Mode = h.in.keys.fileMode(r)
	before, err := h.publisher.Folder.Read()
	if err != nil {
		message.Print(k.stderr, fmt.Sprintf("what is in %s can't be read, and is written anew: %v", h.publisher.Folder.Path, err))
	}
	if before == nil || err != nil {
		h.live = r.Discovery
		return h.publisher.Start(r.Discovery)
	}
	h.live = before
	what, err := h.apply(ctx, time.Now(), r)
	if err != nil {
		return err
	}
	fmt.Fprintf(k.stderr, "limpet: since the last time: %s\n", what)
	return h.publisher.Folder.Clear()
}
