// Package node stands in for the node of a cluster: for its kubelet, its network and a cloud's load balancers. Pods are processes of
// this machine, each with a network namespace, a root and a user of its own, and run as their templates say: images, commands,
// environments, volumes, probes, hooks and grace periods.
package node
