package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// AnnotationManaged has limpet serve give a Gateway its configuration and run no proxies for it where it is "false" on the Gateway.
const AnnotationManaged = Group + "/managed"

// ProxyConfig says how the proxies of Gateways are run that limpet serve runs (--manage-proxies). A GatewayClass refers to one by
// spec.parametersRef and a Gateway by spec.infrastructure.parametersRef: what the Gateway's says goes before what its class's says,
// field by field.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:categories=gateway-api,shortName=pxc
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.service.type`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ProxyConfig struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how proxies are run.
	// +optional
	Spec ProxyConfigSpec `json:"spec,omitempty"`
}

// ProxyConfigSpec is how proxies are run. What is left out is as the class's ProxyConfig says, or else as limpet does it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind != 'DaemonSet' || !has(self.replicas) && !has(self.autoscaling)",message="a DaemonSet has neither replicas nor autoscaling"
// +kubebuilder:validation:XValidation:rule="!has(self.replicas) || !has(self.autoscaling)",message="replicas and autoscaling exclude each other"
type ProxyConfigSpec struct {
	// Kind is what runs the proxies. Left out: Deployment.
	// +kubebuilder:validation:Enum=Deployment;DaemonSet
	// +optional
	Kind *ProxyKind `json:"kind,omitempty"`

	// Replicas of a Deployment. Left out: as many as others say, such as kubectl scale, and one to begin with.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Image is Envoy's. It has the filter where --filter-path of limpet serve says, unless proxies fetch that. Left out: that of
	// --manage-proxies.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Image *string `json:"image,omitempty"`

	// ImagePullPolicy is that of all containers.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	ImagePullPolicy *corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// ImagePullSecrets are in the Gateway's namespace.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	ImagePullSecrets []ProxySecretRef `json:"imagePullSecrets,omitempty"`

	// Resources of Envoy's container.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// Concurrency is how many worker threads Envoy has. Left out: one for each processor that it may use.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	// +optional
	Concurrency *int32 `json:"concurrency,omitempty"`

	// LogLevel is that of Envoy's own log. Left out: warning.
	// +kubebuilder:validation:Enum=trace;debug;info;warning;error;critical;off
	// +optional
	LogLevel *string `json:"logLevel,omitempty"`

	// Service leads clients to the proxies.
	// +optional
	Service *ProxyService `json:"service,omitempty"`

	// Pod is what the proxies' Pods have besides.
	// +optional
	Pod *ProxyPod `json:"pod,omitempty"`

	// Shutdown is how a proxy leaves.
	// +optional
	Shutdown *ProxyShutdown `json:"shutdown,omitempty"`

	// Admin is Envoy's admin interface, which listens on the Pod's loopback.
	// +optional
	Admin *ProxyAdmin `json:"admin,omitempty"`

	// AccessLog is a line for each request on Envoy's standard output. Left out: as --access-log of limpet serve says.
	// +optional
	AccessLog *ProxyAccessLog `json:"accessLog,omitempty"`

	// Tracing sends a span for each request. Left out: there are none.
	// +optional
	Tracing *ProxyTracing `json:"tracing,omitempty"`

	// Identity is how proxies show whose they are.
	// +optional
	Identity *ProxyIdentity `json:"identity,omitempty"`

	// DisruptionBudget is how many proxies may be evicted at a time. Left out: one.
	// +optional
	DisruptionBudget *ProxyDisruptionBudget `json:"disruptionBudget,omitempty"`

	// Autoscaling gives the Deployment a HorizontalPodAutoscaler.
	// +optional
	Autoscaling *ProxyAutoscaling `json:"autoscaling,omitempty"`

	// Bootstrap is merged into what Envoy starts from: objects field by field, lists of objects with names by these, and all other
	// lists are replaced. A field that is null is taken out.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Bootstrap *runtime.RawExtension `json:"bootstrap,omitempty"`
}

// ProxySecretRef names a Secret in the Gateway's namespace.
type ProxySecretRef struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// ProxyAdmin is Envoy's admin interface.
type ProxyAdmin struct {
	// Port on the loopback. Left out: 9901.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port *int32 `json:"port,omitempty"`

	// AllPages opens all of its pages, among them /config_dump and those that change Envoy. Left out: those that show how Envoy is,
	// and the one that has it drain.
	// +optional
	AllPages *bool `json:"allPages,omitempty"`
}

// ProxyAccessLog is a log of requests.
type ProxyAccessLog struct {
	// Enabled turns it on or off. What became of sessions stands in it only with --access-log of limpet serve.
	// +required
	Enabled bool `json:"enabled"`
}

// ProxyTracing is where spans go, and how many.
type ProxyTracing struct {
	// Endpoint is the host and port of an OpenTelemetry collector (OTLP over gRPC, in the clear).
	// +kubebuilder:validation:MaxLength=260
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]):[1-9][0-9]{0,4}$`
	// +required
	Endpoint string `json:"endpoint"`

	// SamplingPercent is how many of a hundred requests have a span that did not come with a decision. Left out: 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	SamplingPercent *int32 `json:"samplingPercent,omitempty"`
}

// ProxyIdentity is how proxies show limpet serve whose they are.
type ProxyIdentity struct {
	// SecretName is that of a Secret in the Gateway's namespace, of type kubernetes.io/tls, with the certificate that limpet
	// serve takes for the Gateway's.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName *string `json:"secretName,omitempty"`
}

// ProxyDisruptionBudget is how many proxies may be evicted at a time.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minAvailable) || !has(self.maxUnavailable)",message="minAvailable and maxUnavailable exclude each other"
type ProxyDisruptionBudget struct {
	// MinAvailable is how many stay, or which part.
	// +optional
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// MaxUnavailable is how many may go, or which part.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// ProxyAutoscaling is what the HorizontalPodAutoscaler does.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not be more than maxReplicas"
type ProxyAutoscaling struct {
	// MinReplicas is how many there are at least. Left out: 1.
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// MaxReplicas is how many there are at most.
	// +kubebuilder:validation:Minimum=1
	// +required
	MaxReplicas int32 `json:"maxReplicas"`

	// TargetCPUUtilization is the use of processors that it aims at, in percent of what is requested. Left out, without metrics: 80.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +optional
	TargetCPUUtilization *int32 `json:"targetCPUUtilization,omitempty"`

	// TargetMemory is the memory that it aims at for each proxy.
	// +optional
	TargetMemory *resource.Quantity `json:"targetMemory,omitempty"`

	// Behavior is how fast it scales.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// ProxyConfigList is what an API server answers to a list.
//
// +kubebuilder:object:root=true
type ProxyConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ProxyConfig `json:"items"`
}
