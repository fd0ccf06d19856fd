package main

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// makeLocal makes the image of limpet for a cluster on this machine, or one of the same architecture, to which it comes
// without a registry. It is called what the chart of the working tree calls it.
func (r *release) makeLocal(file string) (err error) {
	if r.work, err = os.MkdirTemp("", "limpet-image"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	if err := r.build(platform{"linux", runtime.GOARCH}); err != nil {
		return err
	}
	return r.writeLocal(file)
}

// writeLocal writes it as "docker save" does: "docker load", "kind load image-archive", "k3s ctr images import" and
// "minikube image load" read that, of whichever version.
func (r *release) writeLocal(file string) error {
	image, err := readBase(r.base, runtime.GOARCH)
	if err == nil {
		image, err = r.makeControllerFor(runtime.GOARCH, image)
	}
	if err != nil {
		return err
	}
	tag, err := name.NewTag(r.reference("limpet"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return tarball.WriteToFile(file, tag, image)
}
