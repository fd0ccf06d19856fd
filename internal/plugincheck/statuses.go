package plugincheck

import "slices"

// checkStatuses reports an override_host_status that lacks states of good hosts: Envoy pins to hosts in its states
// alone. The state of a good host is what endpoint discovery says, HEALTHY or UNKNOWN, and UNKNOWN where it says
// nothing, whatever health checks say.
func (t *table) checkStatuses(cluster value, name string) {
	at := cluster.get("common_lb_config").get("override_host_status")
	if at.missing() {
		return
	}
	statuses := at.get("statuses").texts()
	allowed := func(status string) bool { return slices.Contains(statuses, status) }
	needed := statusesOf(cluster)
	if len(needed) == 0 && !allowed("UNKNOWN") && !allowed("HEALTHY") {
		needed = []string{"HEALTHY"}
	}
	for _, status := range needed {
		if !allowed(status) {
			t.addOnce(
				at,
				"Required value: %s, which is the state of hosts of cluster %q, that serves a route with a policy: Envoy pins to "+
					"hosts in these states alone, so no session sticks to them",
				status,
				name,
			)
		}
	}
}

// statusesOf are the states in which the hosts of a cluster may be well, as far as the input has them.
func statusesOf(cluster value) (statuses []string) {
	for _, locality := range cluster.get("load_assignment").get("endpoints").items() {
		for _, e := range locality.get("lb_endpoints").items() {
			status := e.get("health_status")
			if status.missing() || status.text() == "UNKNOWN" {
				statuses = append(statuses, "UNKNOWN")
			} else if status.text() == "HEALTHY" {
				statuses = append(statuses, "HEALTHY")
			}
		}
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}
