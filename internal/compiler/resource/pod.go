package resource

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

var podKind = newKind(definition[Pod]{
	kind: "Pod", versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSSubdomain, loose: true,
	prepare: keepPodStatus,
	list:    func(o *Objects) *[]*Object[Pod] { return &o.Pods },
})

// keepPodStatus puts the status back, which is all that is read of a pod.
func keepPodStatus(_ *admitter, d *read.Document) {
	d.Fields["status"], d.Status = d.Status, nil
}

// Pod is what the compiler reads of that kind: which run, and where (S42).
type Pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase      corev1.PodPhase       `json:"phase"`
		PodIP      string                `json:"podIP"`
		PodIPs     []corev1.PodIP        `json:"podIPs"`
		Conditions []corev1.PodCondition `json:"conditions"`
	} `json:"status"`
}

// ServingAddresses are those at which a pod serves: none if it is not ready, or terminates.
func (p *Pod) ServingAddresses() (all []netip.Addr) {
	if !p.isReady() || p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
		return nil
	}
	texts := []string{p.Status.PodIP}
	if len(p.Status.PodIPs) > 0 {
		texts = nil
		for _, ip := range p.Status.PodIPs {
			texts = append(texts, ip.IP)
		}
	}
	for _, text := range texts {
		if address, err := netip.ParseAddr(text); err == nil {
			all = append(all, address)
		}
	}
	return all
}

func (p *Pod) isReady() bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
