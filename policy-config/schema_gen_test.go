package policyconfig

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// schema.json is made here: the fields, their order of nesting and their descriptions come from the types of
// config.go and policy.go, the limits and enumerations from limits.go, the defaults from defaults.go and what is required
// from the decoder tables. Patterns and rules between fields are written below; TestSchemaAgreesWithParse
// holds them against Parse.

type schema = map[string]any

// The patterns use only what ECMA-262 and RE2 have in common.
const (
	tokenClass      = `[A-Za-z0-9!#$%&'*+\-.^_\x60|~]`
	visibleNoSemi   = `[!-:<-~]`
	printableNoSemi = `[ -:<-~]`
	label           = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	zonePattern     = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
)

// textSchemas describes the fields of type string, by type and field.
var textSchemas = map[string]schema{
	"Config.pinHeader":        {"$ref": "#/$defs/headerName", "pattern": `^[^A-Z]*$`},
	"Keys.fromEnv":            textSchema(&envRule, `^[A-Z_][A-Z0-9_]*$`),
	"Keys.sealed":             {"type": "string", "minLength": len(sealedPrefix) + base64Length(minSealed), "maxLength": maxSealed, "pattern": `^1\.[A-Za-z0-9_-]*$`},
	"Keys.gateway":            textSchema(&gatewayRule, `^[!-~]*$`),
	"Key.id":                  textSchema(&keyIDRule, `^[A-Za-z0-9._-]*$`),
	"Policy.name":             textSchema(&nameRule, `^[!-~]*$`),
	"Policy.scope":            textSchema(&scopeRule, `^[!-~]*$`),
	"Policy.routes":           textSchema(&envoyRule, `^[^\x00-\x1f\x7f-\x9f]*$`),
	"Policy.clusters":         textSchema(&envoyRule, `^[^\x00-\x1f\x7f-\x9f]*$`),
	"Policy.sessionName":      textSchema(&sessionRule, `^`+tokenClass+`*$`),
	"Policy.endSessionHeader": {"$ref": "#/$defs/headerName"},
	"Revocation.sessions":     textSchema(&revokedSessionRule, `^[0-9a-f]{16}( until [0-9]{4}-.*)?$`),
	"Revocation.backends":     textSchema(&revokedBackendRule, `^[0-9a-f]{8} before [0-9]{4}-.*$`),
	"Revocation.hosts":        textSchema(&revokedHostRule, `^[^ ]+:[0-9]+ before [0-9]{4}-.*$`),
	"Policy.owners":           textSchema(&ownerRule, `^[^ ]+:[0-9]+ (pod|name) [0-9a-f]{16}$`),
	"Policy.leads":            textSchema(&leadRule, `^[^\x00-\x1f\x7f-\x9f]+ ([0-9a-f]{8}|[0-9a-f]{16})$`),
	"Cookie.path":             textSchema(&pathRule, `^(/`+visibleNoSemi+`*)?$`),
	"Cookie.domain":           textSchema(&domainRule, `^`+label+`(\.`+label+`)*$`),
	"Cookie.attributes": with(textSchema(&attributeRule, `^`+tokenClass+`+(=(`+visibleNoSemi+`(`+printableNoSemi+`*`+visibleNoSemi+`)?)?)?$`), schema{
		"not": schema{"pattern": `^(` + strings.Join(anyCases(ownAttributes), "|") + `)(=|$)`},
	}),
}

var (
	wholeRanges = map[string]wholeRange{
		"Policy.renewAfterPercent": renewRange, "Policy.failStatus": statusRange, "Revocation.epoch": epochRange,
	}
	countRanges = map[string]countRange{
		"Config.policies": policyCount, "KeyRing.keys": keyCount, "Policy.routes": routeCount, "Policy.clusters": routeCount, "Cookie.attributes": attributeCount,
		"Revocation.sessions": revokedCount, "Revocation.backends": revokedCount, "Revocation.hosts": revokedHosts, "Policy.owners": ownerCount, "Policy.leads": leadCount,
	}
	enumSchemas = map[reflect.Type]any{
		reflect.TypeFor[Type](): types, reflect.TypeFor[OnHostLost](): lostChoices, reflect.TypeFor[IssueOn](): issueChoices,
		reflect.TypeFor[LifetimeType](): lifetimes, reflect.TypeFor[SameSite](): sameSites, reflect.TypeFor[CacheControl](): cacheControls,
	}
	defaultValues = map[reflect.Type]any{
		reflect.TypeFor[Config](): DefaultConfig(), reflect.TypeFor[Policy](): DefaultPolicy(), reflect.TypeFor[Cookie](): DefaultCookie(),
		reflect.TypeFor[Cache](): DefaultPolicy().Cache, reflect.TypeFor[Revocation](): Revocation{}, reflect.TypeFor[Keys](): DefaultConfig().Keys,
	}
	requiredFields = map[reflect.Type][]string{
		reflect.TypeFor[Config](): required(configFields), reflect.TypeFor[Keys](): required(keysFields), reflect.TypeFor[KeyRing](): required(ringFields),
		reflect.TypeFor[Key](): required(keyFields), reflect.TypeFor[Policy](): required(policyFields), reflect.TypeFor[Cookie](): required(cookieFields),
		reflect.TypeFor[Cache](): required(cacheFields), reflect.TypeFor[Revocation](): required(revocationFields),
	}
)

func required[T any](fields []field[T]) []string {
	names := []string{}
	for _, f := range fields {
		if f.required {
			names = append(names, f.name)
		}
	}
	return names
}

func textSchema(rule *textRule, pattern string) schema {
	s := schema{"type": "string", "maxLength": rule.max, "pattern": pattern}
	if !rule.empty {
		s["minLength"] = 1
	}
	return s
}

func with(s, more schema) schema {
	for k, v := range more {
		s[k] = v
	}
	return s
}

func base64Length(bytes int) int { return (bytes*8 + 5) / 6 }

// anyCases turns names into patterns that match them in any case.
func anyCases(names []string) []string {
	patterns := make([]string, len(names))
	for i, name := range names {
		for _, r := range name {
			if unicode.IsLetter(r) {
				patterns[i] += fmt.Sprintf("[%c%c]", unicode.ToUpper(r), unicode.ToLower(r))
			} else {
				patterns[i] += string(r)
			}
		}
	}
	return patterns
}

func headerNameSchema() schema {
	var names []string
	for _, group := range reservedHeaders {
		for _, pattern := range anyCases(group.names) {
			if !strings.HasSuffix(pattern, "-") {
				pattern += "$"
			}
			names = append(names, pattern)
		}
	}
	return with(textSchema(&headerRule, `^`+tokenClass+`*$`), schema{"not": schema{"pattern": `^(` + strings.Join(names, "|") + `)`}})
}

// generator walks the types.
type generator struct {
	t        *testing.T
	comments map[string]string // by type, or type and Go name of the field
	defs     schema
}

func generateSchema(t *testing.T) []byte {
	words := comments(t)
	g := generator{t: t, comments: words, defs: schema{
		"headerName": headerNameSchema(),
		"duration":   schema{"type": "string", "description": words["Duration"], "pattern": `^([0-9]{1,5}(h|m|s|ms)){1,4}$`},
		"time": schema{
			"type": "string", "description": words["Time"],
			"pattern": `^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]` + zonePattern + `$`,
		},
		"secret": schema{
			"type": "string", "description": "A key's secret, as URL-safe base64 without padding.",
			"minLength": base64Length(MinSecret), "maxLength": base64Length(MaxSecret), "pattern": `^[A-Za-z0-9_-]*$`,
		},
	}}
	root := g.object(reflect.TypeFor[Config]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["properties"].(schema)[schemaField] = schema{"type": "string", "description": "where an editor finds the schema; passed over"}
	root["title"] = "limpet plugin configuration"
	root["$defs"] = g.defs
	data, err := encode(root)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// object describes a struct.
func (g *generator) object(t reflect.Type) schema {
	properties := schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonName(f)
		p := g.value(t.Name()+"."+name, f.Type)
		p["description"] = g.words(t.Name() + "." + f.Name)
		if d, ok := defaultOf(t, f); ok {
			p["default"] = d
		}
		properties[name] = p
	}
	s := schema{"type": "object", "description": g.words(t.Name()), "properties": properties, "additionalProperties": false}
	if names := requiredFields[t]; len(names) > 0 {
		s["required"] = names
	}
	return with(s, betweenFields[t])
}

// words is a type's or field's comment; it must have one.
func (g *generator) words(name string) string {
	if g.comments[name] == "" {
		g.t.Errorf("%s has no comment", name)
	}
	return g.comments[name]
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// defaultOf is a field's default as JSON. Fields whose default depends on others have none here.
func defaultOf(t reflect.Type, f reflect.StructField) (any, bool) {
	holder, ok := defaultValues[t]
	if !ok {
		return nil, false
	}
	v := reflect.ValueOf(holder).FieldByName(f.Name)
	number := v.Kind() == reflect.Int || v.Kind() == reflect.Uint32
	if v.IsZero() && v.Kind() != reflect.Bool && !number || f.Name == "Version" || v.Kind() == reflect.Slice {
		return nil, false
	}
	return v.Interface(), true
}

// value describes a field's value, or for a list its items too.
func (g *generator) value(name string, t reflect.Type) schema {
	if s, ok := named(t); ok {
		return s
	}
	switch t.Kind() {
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Uint32:
		r := wholeRanges[name]
		return schema{"type": "integer", "minimum": r.min, "maximum": r.max}
	case reflect.Slice:
		items := g.value(name, t.Elem())
		return schema{"type": "array", "items": items, "minItems": countRanges[name].min, "maxItems": countRanges[name].max, "uniqueItems": t.Elem().Kind() == reflect.String}
	case reflect.Pointer:
		return g.value(name, t.Elem())
	case reflect.Struct:
		def := strings.ToLower(t.Name()[:1]) + t.Name()[1:]
		g.defs[def] = g.object(t)
		return schema{"$ref": "#/$defs/" + def}
	}
	if name == "Config.version" {
		return schema{"type": "string", "enum": versions}
	}
	return with(schema{}, textSchemas[name])
}

// named describes the types that are more than their kind says.
func named(t reflect.Type) (schema, bool) {
	switch t {
	case reflect.TypeFor[Duration]():
		return schema{"$ref": "#/$defs/duration"}, true
	case reflect.TypeFor[Time]():
		return schema{"$ref": "#/$defs/time"}, true
	case reflect.TypeFor[Secret]():
		return schema{"$ref": "#/$defs/secret"}, true
	}
	names, ok := enumSchemas[t]
	return schema{"type": "string", "enum": names}, ok
}

// betweenFields are the rules that hold between fields, as far as JSON Schema can say them.
var betweenFields = map[reflect.Type]schema{
	reflect.TypeFor[Keys]():   {"maxProperties": 1},
	reflect.TypeFor[Config](): when(has("sessionDigest", schema{"const": true}), has("accessLogFields", schema{"const": true})),
	reflect.TypeFor[Cookie](): {"allOf": []any{
		when(has("sameSite", schema{"const": SameSiteNone}), schema{"properties": schema{"secure": schema{"const": true}}}),
		when(has("partitioned", schema{"const": true}), schema{"properties": schema{"secure": schema{"const": true}}}),
		when(has("crossSite", schema{"const": true}), schema{"properties": schema{"secure": schema{"const": true}}}),
	}},
	reflect.TypeFor[Policy](): {"allOf": append([]any{
		when(has("type", schema{"const": TypeHeader}), schema{"properties": schema{"cookie": false, "mirrored": schema{"const": false}, "sessionName": schema{"$ref": "#/$defs/headerName"}}}),
		when(has("envelope", schema{"const": true}), schema{"properties": schema{"cookie": schema{"properties": schema{"crossSite": schema{"const": false}}}}}),
		when(has("cookie", has("crossSite", schema{"const": true})), schema{"properties": schema{"sessionName": schema{"maxLength": MaxSessionName - len(CrossSiteSuffix)}}}),
		when(has("cookie", has("lifetimeType", schema{"const": LifetimePermanent})), has("absoluteTimeout", schema{"pattern": "[1-9]"})),
	}, prefixSchemas()...)},
}

func has(name string, value any) schema {
	return schema{"type": "object", "required": []string{name}, "properties": schema{name: value}}
}

func when(condition, then schema) schema { return schema{"if": condition, "then": then} }

func prefixSchemas() []any {
	var all []any
	for _, rule := range cookiePrefixes {
		cookie := schema{"secure": schema{"const": true}}
		if rule.httpOnly {
			cookie["httpOnly"] = schema{"const": true}
		}
		if rule.hostOnly {
			cookie["path"], cookie["domain"] = schema{"const": "/"}, false
		}
		name := schema{"type": "string", "pattern": "^" + anyCases([]string{rule.prefix})[0]}
		all = append(all, when(has("sessionName", name), schema{"properties": schema{"cookie": schema{"properties": cookie}}}))
	}
	return all
}

// comments are the doc comments of the types and their fields, with Go's names of fields turned into JSON's.
func comments(t *testing.T) map[string]string {
	found := map[string]string{}
	for _, file := range []string{"config.go", "policy.go", "duration.go", "time.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					noteType(found, decl, spec)
				}
			}
			return true
		})
	}
	return found
}

func noteType(found map[string]string, decl *ast.GenDecl, spec ast.Spec) {
	typ, ok := spec.(*ast.TypeSpec)
	if !ok {
		return
	}
	found[typ.Name.Name] = prose(decl.Doc)
	if s, ok := typ.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			found[typ.Name.Name+"."+f.Names[0].Name] = prose(f.Doc)
		}
	}
}

var goField = regexp.MustCompile(`^[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*\b`)

// prose is the first paragraph of a comment.
func prose(c *ast.CommentGroup) string {
	text, _, _ := strings.Cut(strings.TrimSpace(c.Text()), "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	return goField.ReplaceAllStringFunc(text, func(name string) string {
		if json, ok := goFields[name]; ok {
			return json
		}
		return name
	})
}

// goFields maps the Go names of fields to those in JSON.
var goFields = func() map[string]string {
	names := map[string]string{}
	for _, t := range structTypes {
		for i := range t.NumField() {
			names[t.Field(i).Name] = jsonName(t.Field(i))
		}
	}
	return names
}()

var structTypes = []reflect.Type{
	reflect.TypeFor[Config](), reflect.TypeFor[Keys](), reflect.TypeFor[KeyRing](), reflect.TypeFor[Key](),
	reflect.TypeFor[Policy](), reflect.TypeFor[Cookie](), reflect.TypeFor[Cache](), reflect.TypeFor[Revocation](),
}

func TestSchemaIsCurrent(t *testing.T) {
	data := generateSchema(t)
	golden(t, "schema.json", string(data))
	if !json.Valid(data) {
		t.Error("not JSON")
	}
}
