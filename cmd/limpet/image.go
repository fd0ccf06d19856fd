package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/wasmimage"
)

const imageHelp = `image packs the limpet.wasm inside this program as the OCI image that Istio and
Envoy Gateway load Wasm plugins from. The same limpet makes the same image, to
the last byte, whenever and wherever it runs.`

func newImage() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Push or save the filter as an OCI image, for Istio and Envoy Gateway",
		Long:  imageHelp,
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; see 'limpet image --help'", args[0])
			}
			return usagef("say what to do: push, save or sbom; 'limpet image --help' explains them")
		},
	}
	c.AddCommand(newImagePush(), newImageSave(), newImageSBOM())
	return c
}

const imagePushHelp = `push sends the image to a registry, and as a referrer of it its bill of
materials in SPDX. Standard output gets the image by digest, for scripts:

  ghcr.io/example/limpet@sha256:...

Credentials are those of 'docker login' or 'podman login'. Registries are
spoken to over TLS; --insecure allows plain HTTP to one on this machine.`

func newImagePush() *cobra.Command {
	var to wasmimage.Destination
	var bare bool
	c := &cobra.Command{
		Use:     "push REGISTRY/REPOSITORY[:TAG]",
		Short:   "Push the image to a registry",
		Long:    imagePushHelp,
		Example: "  limpet image push ghcr.io/example/limpet:v1\n  limpet image push --insecure localhost:5000/limpet",
		Args: func(c *cobra.Command, args []string) error {
			if err := oneArg(c, args, "where to push to"); err != nil {
				return err
			}
			to.Reference = args[0]
			if err := to.Check(); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return pushImage(c, to, bare) },
	}
	c.Flags().BoolVar(&to.Insecure, "insecure", false, "speak plain HTTP, to a registry on this machine only")
	c.Flags().BoolVar(&bare, "no-sbom", false, "leave the bill of materials out, for registries that refuse it")
	return c
}

// pushImage is "limpet image push".
func pushImage(c *cobra.Command, to wasmimage.Destination, bare bool) error {
	image, err := makeImage()
	if err != nil {
		return err
	}
	var sbom []byte
	if !bare {
		if sbom, err = readSBOM(); err != nil {
			return err
		}
	}
	pinned, err := wasmimage.Push(c.Context(), image, sbom, to)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), pinned)
	return err
}

const imageSaveHelp = `save writes the image into a file: a tar of an OCI image layout, for 'docker
load', 'podman load', 'ctr images import' or 'skopeo copy oci-archive:FILE', which
call it limpet:latest.
Standard output gets its digest, which is the one that push gives too.`

func newImageSave() *cobra.Command {
	return &cobra.Command{
		Use:   "save FILE",
		Short: "Write the image into a file",
		Long:  imageSaveHelp,
		Args:  func(c *cobra.Command, args []string) error { return oneArg(c, args, "which file to write") },
		RunE:  func(c *cobra.Command, args []string) error { return saveImage(c, args[0]) },
	}
}

// savedName is what an image is called in a file.
const savedName = "limpet:latest"

// saveImage is "limpet image save".
func saveImage(c *cobra.Command, file string) error {
	image, err := makeImage()
	if err != nil {
		return err
	}
	archive, err := wasmimage.Archive(image, savedName)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	dir, base := filepath.Split(file)
	files := []atomicfile.File{{Name: base, Data: archive, Mode: 0o644}}
	if err := atomicfile.WriteAll(filepath.Clean(dir), files); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.OutOrStdout(), digest)
	return err
}

func newImageSBOM() *cobra.Command {
	return &cobra.Command{
		Use:   "sbom",
		Short: "Print the bill of materials of limpet.wasm, in SPDX",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			sbom, err := readSBOM()
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(sbom)
			return err
		},
	}
}

// makeImage makes the image of the embedded filter.
func makeImage() (v1.Image, error) {
	module, err := readModule()
	if err != nil {
		return nil, err
	}
	return wasmimage.New(module, programVersion())
}

// readSBOM reads the bill of materials of the embedded filter.
func readSBOM() ([]byte, error) {
	data, err := fs.ReadFile(filterFiles, "filters/limpet.spdx.json")
	if err != nil {
		return nil, errors.New("this limpet was built without the bill of materials of limpet.wasm: run 'make build'")
	}
	return data, nil
}

// oneArg wants exactly one argument; what says what it is.
func oneArg(c *cobra.Command, args []string, what string) error {
	if len(args) != 1 {
		return usagef("say %s, and nothing else; see '%s --help'", what, c.CommandPath())
	}
	return nil
}
