package admission

import (
	"embed"
	"fmt"
	"path"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Generation names the releases of Gateway API that share one shape of session persistence.
type Generation string

const (
	// Gateway16 stands for the CRDs of release 1.6.3.
	Gateway16 Generation = "1.6"
	// Gateway17 stands for the CRDs of release 1.7.0.
	Gateway17 Generation = "1.7"
)

// istioFolder holds the CRDs of Istio 1.31 that limpet reads or writes, beside those of any generation.
const istioFolder = "crds/istio"

//go:embed crds
var crds embed.FS

var releases = map[Generation]*release{
	Gateway16: {folder: "crds/1.6"},
	Gateway17: {folder: "crds/1.7"},
}

// release gives the CRDs of one generation, each read when it is first asked for.
type release struct {
	folder string

	mu   sync.Mutex
	read map[schema.GroupKind]*definition
}

// definition gives the CRD of a kind, nil if the release has none.
func (r *release) definition(gk schema.GroupKind) *definition {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.read[gk]; ok {
		return d
	}
	text, err := crds.ReadFile(path.Join(r.folder, gk.String()+".json"))
	if err != nil {
		text, err = crds.ReadFile(path.Join(istioFolder, gk.String()+".json"))
	}
	if err != nil {
		return nil // files are named after their kinds
	}
	d, err := parseJSON(text)
	if err != nil {
		panic(fmt.Sprintf("admission: the CRD of %s, which is part of this program: %v", gk, err)) // no input leads here
	}
	if r.read == nil {
		r.read = map[schema.GroupKind]*definition{}
	}
	r.read[gk] = d
	return d
}
