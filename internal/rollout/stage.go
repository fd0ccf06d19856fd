package rollout

import (
	"cmp"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// Stage is a part of a change: its files may come into effect in any order, and all of them must be in effect before
// the next stage's.
type Stage struct {
	// Name says what it is about, for people.
	Name  string
	Files []File
	// Await are files of earlier stages that Envoy reads for the first time because of this one.
	Await []File
	// Warm says that what is new in the files serves only after a while: clusters and listeners.
	Warm bool
	// Free says that the stage needs none of those before it. Needs are the clusters without which it has to wait for them.
	Free  bool
	Needs []string
	// Brings are the clusters that Envoy has after the stage.
	Brings []string
	// Trial says that the stage finds out whether Envoy takes the filter that the listeners will have.
	Trial bool
	// Tidy says that the stage takes away what nothing uses any more.
	Tidy bool
	// Remove are the paths of files that Envoy no longer reads after the stage.
	Remove []string
}

// Initial is everything, for an Envoy that starts with it.
func Initial(d *envoy.Discovery) []Stage { return Stages(&envoy.Discovery{}, d) }

// Stages are the steps from one configuration to another, make before break: what routes will need comes before
// the routes, and what they needed goes after them. Clusters are those of both meanwhile; session policies are a part of
// their routes. Every file of the new configuration is in them, be it different or not.
func Stages(from, to *envoy.Discovery) []Stage {
	endpoints, newEndpoints := endpointFiles(from, to)
	routes, awaited := routeFiles(from, to)
	settings := filterFile(to.Filter)
	trial := Stage{Name: "filter", Trial: true, Warm: true}
	if fresh := len(from.Listeners) == 0 || from.Filter.Name != to.Filter.Name; fresh && len(to.Listeners) > 0 {
		// It is they that make Envoy read the filter's configuration, or the trial's where some serve already.
		if len(from.Listeners) > 0 {
			trial.Files, trial.Await = []File{listenersFile(from, &envoy.Discovery{Listeners: []envoy.Resource{to.Trial}})}, []File{settings}
		} else {
			awaited = append(awaited, settings)
		}
		settings.Unread = true
	}
	clusters := clustersFile(to)
	allClusters := clusters
	if losesCluster(from.Clusters, to.Clusters) {
		allClusters = clustersFile(from, to)
	}
	return []Stage{
		{Name: "endpoints", Files: endpoints, Free: true},
		{Name: "clusters", Files: []File{allClusters}, Await: newEndpoints, Warm: true, Free: true, Brings: clusterNames(from, to)},
		{Name: "filter's settings", Files: []File{settings}, Free: true},
		trial,
		{Name: "routes", Files: routes, Needs: clusterNames(to)},
		{Name: "listeners", Files: []File{listenersFile(from, to)}, Await: awaited, Warm: true},
		{Name: "listeners", Files: []File{listenersFile(to)}, Tidy: true},
		{Name: "clusters", Files: []File{clusters}, Tidy: true, Remove: findUnread(from, to), Brings: clusterNames(to)},
	}
}

func clusterNames(configurations ...*envoy.Discovery) []string {
	names := []string{}
	for _, d := range configurations {
		for _, c := range d.Clusters {
			names = append(names, c.Name)
		}
	}
	return names
}

// losesCluster reports whether some of the old clusters is not among the new ones.
func losesCluster(from, to []envoy.Cluster) bool {
	stay := make(map[string]bool, len(to))
	for _, c := range to {
		stay[c.Name] = true
	}
	return slices.ContainsFunc(from, func(c envoy.Cluster) bool { return !stay[c.Name] })
}

// Undo are the steps back to a configuration from one that came into effect in part, before anything was tidied up.
// Envoy still has all that the old one needs.
func Undo(from, to *envoy.Discovery) []Stage {
	routes, _ := routeFiles(to, from)
	endpoints, _ := endpointFiles(to, from)
	return []Stage{
		{Name: "listeners", Files: []File{listenersFile(from)}, Warm: true},
		{Name: "routes", Files: routes},
		{Name: "filter's settings", Files: []File{filterFile(from.Filter)}},
		{Name: "clusters", Files: []File{clustersFile(from)}, Warm: true},
		{Name: "endpoints", Files: endpoints, Remove: findUnread(to, from)},
	}
}

func filterFile(r envoy.Resource) File {
	return makeFile(envoy.ExtensionFile(r.Name), envoy.ExtensionCounters(r.Name), r)
}

// listenersFile has the listeners of all configurations; of those with one name it is the last one's.
func listenersFile(configurations ...*envoy.Discovery) File {
	var all []envoy.Resource
	for _, d := range configurations {
		all = append(all, d.Listeners...)
	}
	return makeFile(envoy.ListenersFile, envoy.ListenersCounters, keepLast(all, nameOf)...)
}

// clustersFile is listenersFile for clusters.
func clustersFile(configurations ...*envoy.Discovery) File {
	var all []envoy.Resource
	for _, d := range configurations {
		for _, c := range d.Clusters {
			all = append(all, c.Resource())
		}
	}
	return makeFile(envoy.ClustersFile, envoy.ClustersCounters, keepLast(all, nameOf)...)
}

// keepLast gives the last of each name, in the order of the names.
func keepLast[T any](all []T, name func(T) string) []T {
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return slices.CompactFunc(all, func(a, b T) bool { return name(a) == name(b) })
}

func nameOf(r envoy.Resource) string { return r.Name }

// endpointFiles gives the files of endpoints, and again those of clusters that Envoy does not have yet, which it reads
// with the clusters.
func endpointFiles(from, to *envoy.Discovery) (all, unread []File) {
	known := map[string]bool{}
	for _, c := range from.Clusters {
		known[c.Name] = !c.Inline
	}
	for _, c := range to.Clusters {
		if c.Inline {
			continue
		}
		f := makeFile(envoy.EndpointsFile(c.Name), envoy.EndpointsCounters(c.Name), c.Assignment())
		all, unread = appendFile(f, known[c.Name], all, unread)
	}
	return all, unread
}

// routeFiles is endpointFiles for listeners and their routes.
func routeFiles(from, to *envoy.Discovery) (all, unread []File) {
	known := map[string]bool{}
	for _, r := range from.Routes {
		known[r.Name] = true
	}
	for _, r := range to.Routes {
		all, unread = appendFile(makeFile(envoy.RoutesFile(r.Name), r.Counters, r.Resource), known[r.Name], all, unread)
	}
	return all, unread
}

func appendFile(f File, known bool, all, unread []File) ([]File, []File) {
	if !known {
		unread = append(unread, f)
		f.Unread = true
	}
	return append(all, f), unread
}

// findUnread gives the files of the old configuration that the new one does not have.
func findUnread(from, to *envoy.Discovery) []string {
	read := map[string]bool{}
	for _, path := range listPaths(to) {
		read[path] = true
	}
	return slices.DeleteFunc(listPaths(from), func(path string) bool { return read[path] })
}

// listPaths gives the paths of the files that come and go.
func listPaths(d *envoy.Discovery) []string {
	var all []string
	for _, r := range d.Routes {
		all = append(all, envoy.RoutesFile(r.Name))
	}
	if d.Filter.Name != "" {
		all = append(all, envoy.ExtensionFile(d.Filter.Name))
	}
	for _, c := range d.Clusters {
		if !c.Inline {
			all = append(all, envoy.EndpointsFile(c.Name))
		}
	}
	return all
}
