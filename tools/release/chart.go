package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// The media types of charts in registries.
const (
	chartConfig  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// unreleased is the version that the chart and the manifests of the tree have.
const unreleased = "0.0.0-unreleased"

// writeChart writes the chart, as 'make deploy' put it together, as the archive that Helm reads, and as what a registry
// has of it.
func (r *release) writeChart() error {
	files, err := readFolder(filepath.Join(r.deploy, "chart/limpet"))
	if err != nil {
		return err
	}
	for i, f := range files {
		files[i] = file{"limpet/" + f.name, f.mode, r.stamp(f.data)}
	}
	archive, err := packTar(files)
	if err != nil {
		return err
	}
	if archive, err = zip(archive); err != nil {
		return err
	}
	if err := r.write("limpet-"+r.number+".tgz", archive); err != nil {
		return err
	}
	image, err := r.chartImage(archive)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	at := imageDigest{r.registry + "/charts/limpet:" + r.number, digest.String(), "limpet-" + r.number + ".tgz"}
	r.digests = append(r.digests, at)
	return nil
}

// stamp puts the release's version, and its image by digest, where the tree has placeholders.
func (r *release) stamp(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("ghcr.io/limpet-proxy/"), []byte(r.registry+"/"))
	return bytes.ReplaceAll(
		bytes.ReplaceAll(text, []byte("v"+unreleased), []byte(r.version)),
		[]byte(unreleased),
		[]byte(r.number),
	)
}

// chartImage is the chart as registries have it: "helm pull oci://" reads the layer, and lists the config.
func (r *release) chartImage(archive []byte) (v1.Image, error) {
	text, err := os.ReadFile(filepath.Join(r.deploy, "chart/limpet/Chart.yaml"))
	if err != nil {
		return nil, err
	}
	var about map[string]any
	if err := yaml.Unmarshal(r.stamp(text), &about); err != nil {
		return nil, err
	}
	config, err := json.Marshal(about)
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(
		mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		static.NewLayer(archive, chartContent),
	)
	if err != nil {
		return nil, err
	}
	labels := r.labels("limpet", fmt.Sprint(about["description"]))
	labels["org.opencontainers.image.version"] = r.number
	return artifact{mutate.Annotations(image, labels).(v1.Image), config}, nil
}

// writeManifests writes install.yaml for the release's images, by digest.
func (r *release) writeManifests() error {
	text, err := os.ReadFile(filepath.Join(r.deploy, "install.yaml"))
	if err != nil {
		return err
	}
	stamped := string(r.stamp(text))
	for _, i := range r.digests {
		if strings.HasSuffix(i.Reference, r.version) {
			stamped = strings.ReplaceAll(stamped, i.Reference, i.pinned())
		}
	}
	return r.write("install.yaml", []byte(stamped))
}
