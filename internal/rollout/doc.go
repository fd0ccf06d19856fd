// Package rollout brings a running Envoy from one configuration to another through the files that it watches, make
// before break: what routes need is there before they do, and what they needed goes after them. Each step is confirmed
// by Envoy's own counters; one that Envoy rejects takes the change back.
//
// Envoy's main thread hands each update to every worker in the order in which it took them over, so that a step that
// the main thread confirms reaches each worker before the next one does.
package rollout
