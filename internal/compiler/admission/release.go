package admission

import (
	"embed"
	"fmt"
	"path"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// APIRelease names the releases of Gateway API that share one shape of session persistence.
type APIRelease string

const (
	// Gateway16 stands for the CRDs of release 1.6.3.
	Gateway16 APIRelease = "1.6"
	// Gateway17 stands for the CRDs of release 1.7.0.
	Gateway17 APIRelease = "1.7"
)

// istioFolder holds the CRDs of Istio 1.31 that limpet reads or writes, beside those of any generation.
const istioFolder = "crds/istio"

//go:embed crds
var crdFiles embed.FS

var releases = map[APIRelease]*crdRelease{
	Gateway16: {folder: "crds/1.6"},
	Gateway17: {folder: "crds/1.7"},
}

// crdRelease gives the CRDs of one generation, each read when it is first asked for.
type crdRelease struct {
	folder string

	mu     sync.Mutex
	parsed map[schema.GroupKind]*crdDefinition
}

// findDefinition gives the CRD of a kind, nil if the release has none.
func (r *crdRelease) findDefinition(gk schema.GroupKind) *crdDefinition {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.parsed[gk]; ok {
		return d
	}
	text, err := crdFiles.ReadFile(path.Join(r.folder, gk.String()+".json"))
	if err != nil {
		text, err = crdFiles.ReadFile(path.Join(istioFolder, gk.String()+".json"))
	}
	if err != nil {
		return nil // files are named after their kinds
	}
	d, err := parseJSON(text)
	if err != nil {
		panic(fmt.Sprintf("admission: the CRD of %s, which is part of this program: %v", gk, err)) // no input leads here
	}
	if r.parsed == nil {
		r.parsed = map[schema.GroupKind]*crdDefinition{}
	}
	r.parsed[gk] = d
	return d
}
