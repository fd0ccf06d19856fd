package policyconfig

import "strings"

// A policy may travel with its route in place of standing in the plugin configuration: in the route's metadata, below
// RouteMetadata, as a JSON list of policies under RouteField. The route's name then ends with an identity of that text
// and the route, so that the filter knows from the name alone, which it reads anyway, whether it has seen the text.
//
// Where the filter has no ring (Keys.Gateway), the sealed keys of the policies' scopes stand in front of the list, in
// the order in which the scopes come first in it, with commas between them.
const (
	// RouteMetadata is the key of the filter's metadata of a route.
	RouteMetadata = "limpet"
	// RouteField is the field in there that has the route's policies.
	RouteField = "policies"
	// MaxRouteBytes is the size of one route's policies.
	MaxRouteBytes = 256 << 10
	// MaxRoutePolicies is the number of one route's policies.
	MaxRoutePolicies = 1000
)

const (
	identityMark = "#"
	// identityHex is how many digits an identity has. It need only differ between the texts that one route has had, and
	// all of those are its owner's.
	identityHex = 16
)

// CutIdentity takes the identity off a route's name; false if there is none.
func CutIdentity(name string) (route, identity string, found bool) {
	at := len(name) - identityHex - len(identityMark)
	if at < 0 || name[at:at+len(identityMark)] != identityMark {
		return name, "", false
	}
	route, identity = name[:at], name[at+len(identityMark):]
	for i := range len(identity) {
		if c := identity[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return name, "", false
		}
	}
	return route, identity, true
}

// keyMark stands between the keys of two scopes, and listMark begins the list of policies. Sealed text has neither.
const (
	keyMark  = ","
	listMark = "["
)

// CutKeys splits the text of a route's policies into the sealed keys of their scopes, empty for none, and the list.
func CutKeys(text string) (keys, policies string) {
	at := max(0, strings.Index(text, listMark))
	return text[:at], text[at:]
}

// NextKey takes the keys of the first scope off those of several.
func NextKey(keys string) (first, rest string) {
	first, rest, _ = strings.Cut(keys, keyMark)
	return first, rest
}

// routePolicyFields are those of a policy that travels: its route is the one that it came with, and its name is that of
// the route where it has none.
var routePolicyFields = func() (fields []field[Policy]) {
	for _, f := range policyFields {
		if f.name != "routes" {
			f.required = f.required && f.name != "name"
			fields = append(fields, f)
		}
	}
	return fields
}()

var routePolicyCount = countRange{1, MaxRoutePolicies}

// ParseRoute reads the policies of a route, whose name is given without an identity, as strictly as Parse reads those
// of a configuration with that pin header.
func ParseRoute(data, route, pinHeader string) ([]Policy, ErrorList) {
	d := decoder{text: data}
	var c Config
	if root, ok := d.open(MaxRouteBytes); ok {
		create := func() Policy {
			p := DefaultPolicy()
			p.Name, p.Routes = shortName(route), []string{strings.Clone(route)}
			return p
		}
		list := objects(routePolicyCount, routePolicyFields, create, func(c *Config) *[]Policy { return &c.Policies })
		list(&d, nil, root, &c)
		d.completeRoute(&c, route, pinHeader)
	}
	if errs := d.list(); len(errs) > 0 {
		return nil, errs
	}
	return c.Policies, nil
}

func (d *decoder) completeRoute(c *Config, route, pinHeader string) {
	if err := envoyRule.fault(route); err != nil {
		d.invalid(nil, quote(route), "the route's name "+err.Error())
	}
	here := jsonPath{}
	for i := range c.Policies {
		here.index = i
		if c.Policies[i].Name == "" {
			d.required(here.child("name"), "the route's name is none")
		}
		c.Policies[i].complete()
		d.checkPolicy(&here, &c.Policies[i], pinHeader)
	}
	d.checkNames(nil, c.Policies)
	d.checkRoutes(nil, c.Policies)
}

// shortName is the default name of a policy of a route: the route's own, without what stands before its first slash,
// and no longer than a name may be.
func shortName(route string) string {
	_, name, cut := strings.Cut(route, "/")
	if !cut || name == "" {
		name = route
	}
	if nameRule.fault(name) != nil {
		return ""
	}
	return strings.Clone(name)
}
