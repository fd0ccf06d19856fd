package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// sumsName is the file with the checksums of all others; imagesName has the digests of images.
const (
	sumsName       = "SHA256SUMS"
	imagesName     = "images.txt"
	provenanceName = "provenance.intoto.json"
)

// writeChecksums writes a line for each file, as sha256sum reads it, and one for each image.
func (r *release) writeChecksums() error {
	images := ""
	for _, i := range r.digests {
		images += i.pinned() + " " + i.File + "\n"
	}
	if err := r.write(imagesName, []byte(images)); err != nil {
		return err
	}
	subjects, err := r.subjects()
	if err != nil {
		return err
	}
	lines := ""
	for _, s := range subjects {
		lines += s.Digest["sha256"] + "  " + s.Name + "\n"
	}
	return r.write(sumsName, []byte(lines))
}

// resource is a resource descriptor of in-toto.
type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest"`
}

// subjects are the release's files.
func (r *release) subjects() (all []resource, err error) {
	err = filepath.WalkDir(r.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.out, path)
		digest := map[string]string{"sha256": strings.TrimPrefix(digestOf(data), "sha256:")}
		all = append(all, resource{Name: filepath.ToSlash(name), Digest: digest})
		return err
	})
	return all, err
}

// buildType says how to build a release.
const buildType = "https://github.com/limpet-proxy/limpet/blob/main/docs/install.md#build-a-release"

// writeProvenance writes which sources and tools the files come from: a statement of in-toto with SLSA's predicate,
// version 1.
func (r *release) writeProvenance() error {
	subjects, err := r.subjects()
	if err != nil {
		return err
	}
	for _, i := range r.digests {
		subjects = append(
			subjects,
			resource{Name: i.Reference, Digest: map[string]string{"sha256": strings.TrimPrefix(i.Digest, "sha256:")}},
		)
	}
	commit, err := r.git("rev-parse", "HEAD")
	if err != nil {
		return err
	}
	source := "git+https://github.com/limpet-proxy/limpet"
	text, err := json.MarshalIndent(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType": buildType,
				"externalParameters": map[string]string{
					"version":   r.version,
					"source":    source,
					"base":      r.base,
					"envoyBase": r.envoyBase,
				},
				"internalParameters": map[string]string{"go": runtime.Version()},
				"resolvedDependencies": []resource{
					{URI: source + "@" + commit, Digest: map[string]string{"gitCommit": commit}},
				},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": r.builder}},
		},
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(provenanceName, append(text, '\n'))
}
