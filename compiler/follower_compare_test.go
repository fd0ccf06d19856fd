package compiler

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// newFollower makes a follower for some options.
func newFollower(t *testing.T, o Options) *Follower {
	t.Helper()
	f, err := NewFollower(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// compareFollowed brings a follower up to date with the sources, and compares what that comes to with a compilation from
// scratch. It gives the error of both.
func compareFollowed(t *testing.T, name string, f *Follower, sources []Source, o Options) error {
	t.Helper()
	want, refused := Compile(sources, o)
	served := o.served()
	c := Changes{
		Keys: o.Keys, Time: o.Time, Draining: served.Draining, Selection: served.Selection, Nodes: served.Nodes,
	}
	update, err := f.Replace(sources, c)
	if fmt.Sprint(err) != fmt.Sprint(refused) {
		t.Errorf("%s: followed %v\nfrom scratch %v", name, err, refused)
		return refused
	}
	if refused != nil {
		return refused
	}
	got, err := update.Result()
	if err != nil {
		t.Fatal(err)
	}
	compareFollowedResults(t, name, got, want)
	return nil
}

// drainingOf is where options say since when hosts terminate.
func drainingOf(o Options) *map[HostKey]time.Time {
	return &o.Envoy.Served.Draining
}

func compareFollowedResults(t *testing.T, name string, got, want *Result) {
	t.Helper()
	compareServedLists(t, name, got.Served, want.Served)
	if !slices.Equal(got.Warnings, want.Warnings) {
		t.Errorf("%s: the warnings differ:\nfollowed %v\nfrom scratch %v", name, got.Warnings, want.Warnings)
	}
	if !t.Failed() && !reflect.DeepEqual(got, want) {
		t.Errorf("%s: the results differ:\nfollowed %+v\nfrom scratch %+v", name, got, want)
	}
}

// compareServedLists compares what a server gives to the proxies of each Gateway, piece by piece.
func compareServedLists(t *testing.T, name string, got, want []*envoy.Served) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: there are %d Gateways; want %d", name, len(got), len(want))
		return
	}
	for i, w := range want {
		g := got[i]
		if g.Gateway != w.Gateway {
			t.Errorf("%s: %s is in the place of %s", name, g.Gateway, w.Gateway)
			return
		}
		for kind, lists := range map[string][2][]*envoy.Packed{
			"listeners": {g.Listeners, w.Listeners}, "routes": {g.Routes, w.Routes}, "clusters": {g.Clusters.Slice(), w.Clusters.Slice()},
			"endpoints": {g.Endpoints.Slice(), w.Endpoints.Slice()}, "secrets": {g.Secrets, w.Secrets}, "filter": {g.Filter, w.Filter},
			"scopes": {g.Scopes, w.Scopes}, "tables of shards": {g.ShardTables, w.ShardTables},
		} {
			if !reflect.DeepEqual(lists[0], lists[1]) {
				t.Errorf("%s: the %s of %s differ:\nfollowed %s\nfrom scratch %s",
					name, kind, w.Gateway, printPacked(lists[0]), printPacked(lists[1]))
			}
		}
	}
}

func printPacked(all []*envoy.Packed) (text string) {
	for _, packed := range all {
		text += fmt.Sprintf("%+v\n", *packed)
	}
	return text
}
