package follow

import (
	"reflect"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
)

// sharedCluster is a cluster that several groups may use.
type sharedCluster struct {
	config ir.Cluster
	users  int
	text   *envoy.Cluster // nil until it is written
}

// touchCluster notes what a cluster was.
func (m *merged) touchCluster(name string) { m.was.clusters.note(name, m.clusterText(name)) }

// clusterText is what was written of a cluster; nil for none.
func (m *merged) clusterText(name string) *envoy.Cluster {
	if c := m.clusters[name]; c != nil {
		return c.text
	}
	return nil
}

// setCluster notes what a cluster is. It is written again if it is another.
func (m *merged) setCluster(now *ir.Cluster) {
	if known := m.clusters[now.Name]; !reflect.DeepEqual(&known.config, now) {
		known.config, known.text = *now, nil
	}
}

// replaceCluster puts a cluster of a part in the place of the one that it was.
func (m *merged) replaceCluster(was, now *lower.Cluster) {
	m.remember(&now.Remembered, 1)
	m.remember(&was.Remembered, -1)
	m.touchCluster(now.Name)
	m.setCluster(&now.Cluster)
}

// writeClusters writes those of some names that are not written.
func (m *merged) writeClusters(names []string) error {
	var missing []*sharedCluster
	var configs []ir.Cluster
	for _, name := range names {
		if c := m.clusters[name]; c != nil && c.text == nil {
			missing, configs = append(missing, c), append(configs, c.config)
		}
	}
	texts, err := envoy.RenderClusters(configs)
	for i := range texts {
		keepPacked(m.was.clusters[texts[i].Name], &texts[i])
		missing[i].text = &texts[i]
	}
	return err
}

// keepPacked leaves the halves of a cluster that have not changed the same values.
func keepPacked(was, now *envoy.Cluster) {
	if was == nil {
		return
	}
	if was.Settings.Equal(now.Settings) {
		now.Settings = was.Settings
	}
	if was.Endpoints != nil && now.Endpoints != nil && was.Endpoints.Equal(now.Endpoints) {
		now.Endpoints = was.Endpoints
	}
}
