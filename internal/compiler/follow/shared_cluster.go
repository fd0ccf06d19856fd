package follow

import (
	"cmp"
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
	// before is what was written when nothing but the hosts was another; nil where more was, or nothing is written.
	before *envoy.Cluster
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

// setCluster notes what a cluster is. It is written again if it is another, or its hosts alone if nothing else is.
func (m *merged) setCluster(now *ir.Cluster) {
	known := m.clusters[now.Name]
	if reflect.DeepEqual(&known.config, now) {
		return
	}
	before := cmp.Or(known.text, known.before)
	if !known.config.HasOtherHosts(now) {
		before = nil
	}
	known.config, known.text, known.before = *now, nil, before
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
	var whole []ir.Cluster
	var others []envoy.OtherHosts
	for _, name := range names {
		switch c := m.clusters[name]; {
		case c == nil || c.text != nil:
		case c.before != nil:
			others = append(others, envoy.OtherHosts{Cluster: &c.config, Was: c.before})
		default:
			whole = append(whole, c.config)
		}
	}
	texts, err := envoy.RenderEndpoints(others)
	if len(whole) > 0 && err == nil {
		var more []envoy.Cluster
		more, err = envoy.RenderClusters(whole)
		texts = append(texts, more...)
	}
	for i := range texts {
		keepPacked(m.was.clusters[texts[i].Name], &texts[i])
		c := m.clusters[texts[i].Name]
		c.text, c.before = &texts[i], nil
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
