package proxies

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// newDeployment takes a new proxy in before an old one goes.
func (r *renderer) newDeployment(template corev1.PodTemplateSpec) *appsv1.Deployment {
	none, some := intstr.FromInt32(0), intstr.FromString("25%")
	return &appsv1.Deployment{
		TypeMeta: typeMeta("apps/v1", "Deployment"), ObjectMeta: r.newMeta(nil, nil),
		Spec: appsv1.DeploymentSpec{
			Replicas: r.countReplicas(), Selector: &metav1.LabelSelector{MatchLabels: r.newSelector()}, Template: template,
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none, MaxSurge: &some},
			},
		},
	}
}

// countReplicas is how many there shall be; nil leaves that to others. Where an autoscaler decides, what it has decided
// last stays.
func (r *renderer) countReplicas() *int32 {
	a := r.Config.Autoscaling
	if a == nil {
		return r.Config.Replicas
	}
	least := int32(1)
	if a.MinReplicas != nil {
		least = *a.MinReplicas
	}
	if r.Replicas != nil {
		least = max(least, min(*r.Replicas, a.MaxReplicas))
	}
	return &least
}

func (r *renderer) newDaemonSet(template corev1.PodTemplateSpec) *appsv1.DaemonSet {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	return &appsv1.DaemonSet{
		TypeMeta: typeMeta("apps/v1", "DaemonSet"), ObjectMeta: r.newMeta(nil, nil),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: r.newSelector()}, Template: template,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &none, MaxSurge: &one},
			},
		},
	}
}

// newDisruptionBudget lets one proxy be evicted at a time, and those that are not ready whenever. For a DaemonSet there
// is one only with a number of proxies that stay: what may go at a time, or a part, can't be counted, and Kubernetes
// then lets none go.
func (r *renderer) newDisruptionBudget() *policyv1.PodDisruptionBudget {
	own := r.Config.DisruptionBudget
	if r.isDaemonSet() && (own == nil || own.MinAvailable == nil || own.MinAvailable.Type != intstr.Int) {
		return nil
	}
	one, always := intstr.FromInt32(1), policyv1.AlwaysAllow
	p := &policyv1.PodDisruptionBudget{
		TypeMeta: typeMeta("policy/v1", "PodDisruptionBudget"), ObjectMeta: r.newMeta(nil, nil),
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: r.newSelector()},
			MaxUnavailable: &one, UnhealthyPodEvictionPolicy: &always,
		},
	}
	if own != nil && (own.MinAvailable != nil || own.MaxUnavailable != nil) {
		p.Spec.MinAvailable, p.Spec.MaxUnavailable = own.MinAvailable, own.MaxUnavailable
	}
	return p
}

// newAutoscaler is nil where none is asked for.
func (r *renderer) newAutoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	a := r.Config.Autoscaling
	if a == nil || r.isDaemonSet() {
		return nil
	}
	h := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: typeMeta("autoscaling/v2", "HorizontalPodAutoscaler"), ObjectMeta: r.newMeta(nil, nil),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: r.name},
			MinReplicas:    a.MinReplicas, MaxReplicas: a.MaxReplicas, Behavior: a.Behavior,
		},
	}
	use := a.TargetCPUUtilization
	if use == nil && a.TargetMemory == nil {
		usual := int32(80)
		use = &usual
	}
	if use != nil {
		h.Spec.Metrics = append(h.Spec.Metrics, newMetric(corev1.ResourceCPU, autoscalingv2.MetricTarget{
			Type: autoscalingv2.UtilizationMetricType, AverageUtilization: use,
		}))
	}
	if a.TargetMemory != nil {
		h.Spec.Metrics = append(h.Spec.Metrics, newMetric(corev1.ResourceMemory, autoscalingv2.MetricTarget{
			Type:         autoscalingv2.AverageValueMetricType,
			AverageValue: resource.NewQuantity(a.TargetMemory.Value(), a.TargetMemory.Format),
		}))
	}
	return h
}

func newMetric(of corev1.ResourceName, target autoscalingv2.MetricTarget) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: of, Target: target},
	}
}
