package attack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// flapEvery is how often all pods behind the attacker's addresses are others.
const flapEvery = 150 * time.Millisecond

var flapping sync.Mutex

// changingPods has 900 addresses of the attacker's pass to other pods all the time. One does it; the others wait.
func changingPods(ctx context.Context, on Target) error {
	flapping.Lock()
	defer flapping.Unlock()
	file := filepath.Join(on.Folder, "evil.yaml")
	for i := 0; ctx.Err() == nil; i++ {
		if err := os.WriteFile(file+".new", []byte(flapped(i)), 0o600); err != nil {
			return err
		}
		if err := os.Rename(file+".new", file); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(flapEvery):
		}
	}
	return ctx.Err()
}

const flappedRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: flapping, namespace: evil}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{name: pods, port: 80}], sessionPersistence: {sessionName: evil}}]
---
apiVersion: v1
kind: Service
metadata: {name: pods, namespace: evil}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pods-1, namespace: evil, labels: {kubernetes.io/service-name: pods}}
addressType: IPv4
ports: [{port: 80}]
endpoints:
`

// flapped are the documents with other pods for each number.
func flapped(number int) string {
	var text strings.Builder
	text.WriteString(flappedRoute)
	for i := range 900 {
		fmt.Fprintf(&text, "- {addresses: [10.9.%d.%d], targetRef: {kind: Pod, name: p%d, namespace: evil, uid: u%d-%d}}\n",
			i/200, 1+i%200, i, i, number)
	}
	return text.String()
}
