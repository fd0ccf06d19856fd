package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// ProxyKind is what runs proxies.
type ProxyKind string

// ProxyService is the Service of a Gateway's proxies.
type ProxyService struct {
	// Type of the Service. Left out: LoadBalancer.
	// +kubebuilder:validation:Enum=LoadBalancer;NodePort;ClusterIP
	// +optional
	Type *corev1.ServiceType `json:"type,omitempty"`

	// Annotations are the Service's alone.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels are the Service's alone.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// ExternalTrafficPolicy of the Service. Left out: Kubernetes' own default, Cluster; Local shows proxies clients' addresses.
	// +kubebuilder:validation:Enum=Cluster;Local
	// +optional
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// LoadBalancerClass of the Service, which does not change once it is there.
	// +kubebuilder:validation:MaxLength=316
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`

	// LoadBalancerSourceRanges are from where a load balancer takes clients.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`

	// IPFamilyPolicy of the Service.
	// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
	// +optional
	IPFamilyPolicy *corev1.IPFamilyPolicy `json:"ipFamilyPolicy,omitempty"`
}

// ProxyPod is what Pods of proxies have besides.
type ProxyPod struct {
	// Annotations are the Pods' alone.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// Labels are the Pods' alone.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// NodeSelector of the Pods.
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// Tolerations of the Pods.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// Affinity of the Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// TopologySpreadConstraints of the Pods; one without a labelSelector is about the Gateway's proxies. Left out: proxies are on
	// different nodes where that can be.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// PriorityClassName of the Pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName *string `json:"priorityClassName,omitempty"`
}

// ProxyShutdown is how a proxy leaves: from then on it answers each request with the word to come on another connection, takes new
// connections until none come any more, and ends when it has none or the time is over.
//
// +kubebuilder:validation:XValidation:rule="!has(self.drainTimeout) || !has(self.minDrain) || duration(self.minDrain) <= duration(self.drainTimeout)",message="minDrain must not be longer than drainTimeout"
type ProxyShutdown struct {
	// DrainTimeout is how long it takes at most. Left out: 60s.
	// +optional
	DrainTimeout *Duration `json:"drainTimeout,omitempty"`

	// MinDrain is how long it takes at least: load balancers need as long to hear of it. Left out: 10s.
	// +optional
	MinDrain *Duration `json:"minDrain,omitempty"`
}

// The kinds.
const (
	ProxyDeployment ProxyKind = "Deployment"
	ProxyDaemonSet  ProxyKind = "DaemonSet"
)
