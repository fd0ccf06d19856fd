package main

import (
	"context"
	"errors"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/rollout"
)

// defaultPause is what an Envoy that can't be asked gets for each step of a change.
const defaultPause = 2 * time.Second

// checkWatch refuses flags that make no sense with --watch, or without.
func (cc *compileCommand) checkWatch(c *cobra.Command) error {
	switch {
	case cc.watch.on && cc.out == "":
		return usagef("--watch needs -o DIR")
	case !cc.watch.on && c.Flags().Changed("pause"):
		return usagef("--pause needs --watch")
	case cc.pause < 0:
		return usagef("--pause %v: must not be negative", cc.pause)
	default:
		return cc.watch.check(c, &cc.config.input)
	}
}

// keepUpToDate compiles into the folder again and again until limpet is told to end. No other limpet writes there
// meanwhile: what is live is what this one wrote last.
func (cc *compileCommand) keepUpToDate(c *cobra.Command) error {
	stderr := c.ErrOrStderr()
	lock, err := atomicfile.LockDir(cc.out)
	if err != nil {
		return err
	}
	defer lock.Release()
	if lock.Unlocked != nil {
		message.Printf(stderr, "%s can't be locked, so take care that no other limpet writes there: %v",
			cc.out, lock.Unlocked)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	r := cc.config.newReconciler(stderr)
	r.Report = cc.writeReport
	start, err := cc.setOutput(ctx, c, r)
	if err != nil {
		return err
	}
	result, err := r.Start()
	if err != nil {
		return err
	}
	message.PrintProblems(stderr, result.Warnings)
	message.PrintPassedOver(stderr, result.PassedOver)
	if err := start(result); err != nil {
		return err
	}
	cc.config.keys.warnOfOpenFolder(stderr, result, cc.out)
	cc.config.keys.printExposure(stderr, result, "the folder "+cc.out+" (files of mode 0600)")
	message.Printf(stderr, "%s is up to date; changes of the input reach it as they come", cc.out)
	r.Run(ctx)
	return nil
}

// setOutput gives a reconciler the target's output; start puts the first result to use.
func (cc *compileCommand) setOutput(
	ctx context.Context, c *cobra.Command, r *livereload.Reconciler,
) (start func(*compiler.Result) error, err error) {
	target := compiler.Target(cc.target)
	if target != compiler.TargetEnvoy {
		modulePath, err := cc.config.filter.pathUnder(cc.out)
		if err != nil {
			return nil, err
		}
		w := &livereload.Rewriter{Dir: cc.out, Options: cc.config.cachedOptions(target, modulePath), Files: cc.outputFiles}
		r.Output = w
		return w.Write, nil
	}
	d, err := cc.newDynamic(c)
	if err != nil {
		return nil, err
	}
	r.Output, d.Reports = d, cc.report != ""
	d.Publisher.Waiting = r.Changes.Changed
	return func(result *compiler.Result) error {
		files, err := cc.outputFiles(result)
		if err != nil {
			return err
		}
		// The filter, the first of them, is there before anything that an Envoy in the folder follows names it.
		if err := atomicfile.WriteAll(cc.out, files[:1]); err != nil {
			return err
		}
		begin := time.Now()
		err = d.Resume(ctx, c.ErrOrStderr(), result)
		for errors.Is(err, livereload.ErrAgain) {
			message.Print(c.ErrOrStderr(), err.Error())
			if result, err = r.Start(); err == nil {
				message.PrintProblems(c.ErrOrStderr(), d.NewWarnings())
				err = d.Resume(ctx, c.ErrOrStderr(), result)
			}
		}
		if err != nil && !r.Unconfirmed(err, begin) {
			return err
		}
		return errors.Join(atomicfile.WriteAll(cc.out, files), cc.config.filter.removeOld(cc.out))
	}, nil
}

// newDynamic makes the output for an Envoy that watches the folder, one step of a change after the other.
func (cc *compileCommand) newDynamic(c *cobra.Command) (*livereload.Dynamic, error) {
	known := memory.Load(
		func(kind *memory.Kind) memory.Store { return memory.OpenFile(filepath.Join(cc.out, kind.Name+".json")) },
		func(lost string, why error) { message.Printf(c.ErrOrStderr(), "%s: %v", lost, why) },
	)
	d, err := cc.config.newDynamic(cc.out, &cc.watch, known)
	if err != nil {
		return nil, err
	}
	d.Publisher.Pause = cc.pause
	if c.Flags().Changed("admin") && cc.config.admin != compiler.NoAdmin {
		d.Publisher.Admin, d.Publisher.MayBeAway = rollout.Admin(cc.config.admin), true
	} else {
		message.Printf(c.ErrOrStderr(), "without --admin ADDRESS Envoy is not asked whether a change is live; "+
			"each step of a change gets %v", cc.pause)
	}
	return d, nil
}
