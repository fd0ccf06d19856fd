// Package proxies says which objects of a cluster run the proxies of a Gateway: a Deployment or DaemonSet with its
// Service, ServiceAccount, Secret, PodDisruptionBudget and HorizontalPodAutoscaler. It talks to nothing.
package proxies
