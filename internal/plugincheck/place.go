package plugincheck

// place is a route, the virtual host and table that enclose it, and the cluster of its split, if it has one.
type place struct {
	table, host, route, cluster value
}

// levels are where settings may be; the first that says something has the last word.
func (p place) levels() []value { return []value{p.cluster, p.route, p.host, p.table} }

// destinations are a route's clusters; where there is no split, the route alone.
func (p place) destinations() (all []place) {
	for _, cluster := range p.route.get("route").get("weighted_clusters").get("clusters").items() {
		if cluster.get("weight").text() != "0" {
			all = append(all, place{p.table, p.host, p.route, cluster})
		}
	}
	if len(all) == 0 {
		return []place{p}
	}
	return all
}

// inherited is a setting of a route's action, or else that of its virtual host.
func (p place) inherited(field string) value {
	if own := p.route.get("route").get(field); !own.missing() {
		return own
	}
	return p.host.get(field)
}

// where is what a message about it points at.
func (p place) where() value {
	if p.cluster.missing() {
		return p.route
	}
	return p.cluster
}

// clusterName is where a destination leads to, empty where the request says it.
func (p place) clusterName() string {
	if p.cluster.missing() {
		return p.route.get("route").get("cluster").text()
	}
	return p.cluster.get("name").text()
}

// clusterNames are where a route leads to.
func (p place) clusterNames() (names []string) {
	for _, d := range p.destinations() {
		names = append(names, d.clusterName())
	}
	return names
}
