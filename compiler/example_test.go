package compiler_test

import (
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
)

// shop is a Gateway and a route whose sessions are in a cookie.
const shop = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: limpet}
spec: {controllerName: limpet.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: limpet
  listeners: [{name: http, protocol: HTTP, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: shop}
spec:
  parentRefs: [{name: web}]
  rules:
  - name: pay
    matches: [{path: {value: /pay}}]
    sessionPersistence: {sessionName: cart, absoluteTimeout: 8h}
    backendRefs: [{name: cart, port: 80}]
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
`

// Documents go in, files come out. Equal documents give equal bytes.
func ExampleCompile() {
	sources := []compiler.Source{{Name: "shop.yaml", Data: []byte(shop)}}
	result, err := compiler.Compile(sources, compiler.Options{Target: compiler.TargetPlugin})
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range result.Files {
		fmt.Println(file.Name)
	}
	for _, policy := range result.Plugin.Policies {
		fmt.Println(policy.Scope, policy.SessionName, policy.Cookie.Path, policy.AbsoluteTimeout)
	}
	// Output:
	// plugin.json
	// HTTPRoute/shop/cart/rule/pay cart /pay 8h
}

// What no API server would admit, or limpet does not support, is an error with the file, line, object and path; all of them
// at once, and nothing is written.
func ExampleCompile_errors() {
	sources := []compiler.Source{{Name: "policy.yaml", Data: []byte(`apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: cart, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: cart}]
  absoluteTimeout: 8h
  onHostLoss: Fail
  cookie: {colour: red}
`)}}
	_, err := compiler.Compile(sources, compiler.Options{Target: compiler.TargetPlugin})
	var problems compiler.Errors
	if !errors.As(err, &problems) {
		log.Fatal(err)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	// Output:
	// policy.yaml:7: SessionPersistencePolicy shop/cart: spec.onHostLoss: unknown field; did you mean onHostLost?
	// policy.yaml:8: SessionPersistencePolicy shop/cart: spec.cookie.colour: unknown field
	// no listener is left, so nothing would be served: there is no Gateway in the input
}

// Check says what a controller would write into the status of each object.
func ExampleCheck() {
	sources := []compiler.Source{{Name: "shop.yaml", Data: []byte(shop)}}
	result, err := compiler.Check(sources, compiler.Options{Target: compiler.TargetPlugin})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(result.Objects), "objects with a status; accepted:", result.Worst() != compiler.Refused)
	// Output:
	// 3 objects with a status; accepted: true
}

// A follower takes changed documents, and gives what a server sends to Envoys: what has not changed is the same value.
func ExampleFollower() {
	follower, err := compiler.NewFollower(compiler.Options{Envoy: &compiler.EnvoyOptions{
		ModulePath: "limpet.wasm", Served: &compiler.Served{},
	}})
	if err != nil {
		log.Fatal(err)
	}
	follow := func(text string) *compiler.Result {
		update, err := follower.Apply(compiler.Changes{Set: []compiler.Source{{Name: "shop.yaml", Data: []byte(text)}}})
		if err != nil {
			log.Fatal(err)
		}
		result, err := update.Result()
		if err != nil {
			log.Fatal(err)
		}
		return result
	}
	before, after := follow(shop).Served[0], follow(strings.Replace(shop, "10.0.0.1", "10.0.0.2", 1)).Served[0]
	fmt.Println(after.Gateway, "has the same routes:", &before.Routes[0].Content[0] == &after.Routes[0].Content[0])
	was, now := before.Endpoints.Slice()[0], after.Endpoints.Slice()[0]
	fmt.Println("endpoints of", now.Name, "are the same:", was.Equal(now))
	// Output:
	// shop/web has the same routes: true
	// endpoints of service/shop/cart/80 are the same: false
}
