// Package standin stands in for a Kubernetes cluster on one machine: a control plane, which is real, and a node that is
// not. Pods are processes of this machine, each with a network, a root and a user of its own, and run as their
// templates say: images, commands, environments, volumes, probes, hooks and grace periods. Addresses of Services, and
// those of a cloud's load balancers, lead to them.
package standin
