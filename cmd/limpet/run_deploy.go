package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/memory"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// deployment is what is served to the Envoy that limpet runs.
type deployment struct {
	own        *ownEnvoy
	server     *xds.Server
	controller *controller.Controller
	// entrances are where clients get in.
	entrances []envoy.Entrance
	isRead    bool // that all of the input is, once and for all
	// failed is why Envoy was ended that had started.
	failed error
}

// runDeadline is how long Envoy may take over a step of a change before limpet says so: seconds for thousands of
// clusters.
const runDeadline = time.Minute

// deploy compiles the input for the Envoy of a folder, without the listeners for which this machine has no room.
func (rc *runCommand) deploy(c *cobra.Command, dir string) (*deployment, error) {
	if err := serve.CheckSocketPath(socketIn(dir)); err != nil {
		return nil, errors.New("TMPDIR: " + err.Error())
	}
	modulePath, err := rc.config.filter.pathUnder(dir)
	if err != nil {
		return nil, err
	}
	if len(shardFiles()) > 0 {
		rc.config.shards = filepath.Join(dir, shardName)
	}
	d := &deployment{own: &ownEnvoy{stderr: c.ErrOrStderr()}}
	d.server = xds.NewServer(xds.Options{
		Deadline: runDeadline, Authenticate: xds.AuthenticateAs(envoy.AllGateways), Log: d.own,
		Judge: rc.config.filter.judgeEnvoy, HasModule: rc.config.shards != "",
	})
	d.own.server = d.server
	if err := rc.config.input.readOnce(c.InOrStdin(), c.ErrOrStderr()); err != nil {
		return nil, err
	}
	d.isRead = len(rc.config.input.paths) == 0
	d.controller = &controller.Controller{
		Options: rc.config.envoyOptions(modulePath), Served: compiler.Served{Together: true}, Probe: true,
		Server: d.server, Memory: memory.New(), Announce: d.own.announce, // what it remembers does not outlive the run
	}
	rc.config.followFiles(d.controller, c.ErrOrStderr())
	result, err := d.controller.Start()
	if rc.config.admin.address != compiler.NoAdmin {
		err = errors.Join(err, envoyproc.CheckAdminFree(rc.config.admin.address))
	}
	if err != nil {
		return nil, err
	}
	message.PrintProblems(c.ErrOrStderr(), result.Warnings, d.controller.Style)
	message.PrintPassedOver(c.ErrOrStderr(), result.PassedOver)
	for _, served := range result.Served {
		more, err := served.Entrances()
		if err != nil {
			return nil, err
		}
		d.entrances = append(d.entrances, more...)
	}
	return d, nil
}

// serve listens at a socket, and follows the input until the end. Signals end Envoy if it can't serve.
func (d *deployment) serve(socket string, signals chan<- os.Signal) (end func(), err error) {
	listener, err := serve.ListenOnSocket(socket, 0o600)
	if err != nil {
		return nil, err
	}
	served := make(chan struct{})
	d.own.served = func() { close(served) }
	d.own.failed = func(err error) {
		if d.failed == nil {
			d.failed = err
			signals <- syscall.SIGTERM
		}
	}
	rpc := serve.NewRPC(nil, 0, runDeadline)
	go func() { _ = d.server.Serve(rpc, listener) }()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-served:
			printEntrances(d.controller.Stderr, d.entrances)
			if !d.isRead {
				message.Print(d.controller.Stderr, "changes of the input reach Envoy as they come")
			}
			d.controller.Run(ctx)
		case <-ctx.Done():
		}
	}()
	return func() {
		cancel()
		rpc.Stop()
		<-done
	}, nil
}
