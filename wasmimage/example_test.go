package wasmimage_test

import (
	"fmt"
	"log"

	"github.com/limpet-proxy/limpet/wasmimage"
)

// Equal modules make equal images, on any machine, so that the digest can be pinned before the image is pushed.
func ExampleNew() {
	module := []byte("\x00asm\x01\x00\x00\x00")
	image, err := wasmimage.New(module, "v1.2.3")
	if err != nil {
		log.Fatal(err)
	}
	again, err := wasmimage.New(module, "v1.2.3")
	if err != nil {
		log.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		log.Fatal(err)
	}
	media, err := layers[len(layers)-1].MediaType()
	if err != nil {
		log.Fatal(err)
	}
	one, err := image.Digest()
	if err != nil {
		log.Fatal(err)
	}
	other, err := again.Digest()
	fmt.Println(len(layers), media, one == other, err)
	// Output:
	// 1 application/vnd.oci.image.layer.v1.tar+gzip true <nil>
}

// An archive is what "docker load" and "crane push" read, where a registry is out of reach.
func ExampleArchive() {
	image, err := wasmimage.New([]byte("\x00asm\x01\x00\x00\x00"), "v1.2.3")
	if err != nil {
		log.Fatal(err)
	}
	archive, err := wasmimage.Archive(image, "registry.example.com/limpet:v1.2.3")
	fmt.Println(len(archive) > 0, err)
	// Output:
	// true <nil>
}

// A destination must name its registry, and plain HTTP goes to this machine only.
func ExampleDestination() {
	for _, to := range []wasmimage.Destination{
		{Reference: "registry.example.com/limpet:v1.2.3"},
		{Reference: "limpet"},
		{Reference: "registry.example.com/limpet", Insecure: true},
	} {
		fmt.Println(to.Check())
	}
	// Output:
	// <nil>
	// "limpet": must begin with the registry's name, such as ghcr.io/
	// "registry.example.com/limpet": plain HTTP is for registries on this machine (localhost, 127.0.0.0/8, ::1) only
}
