package proxies

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/token"
)

// Settings are those of all proxies.
type Settings struct {
	// Image is Envoy's, and HelperImage limpet's own.
	Image, HelperImage string
	// Server is the host and port of limpet serve as Pods reach it, and Modules that of its filter, empty where the image
	// has it.
	Server, Modules string
	// Bind is the address at which listeners listen.
	Bind netip.Addr
	// Roots are limpet's root secrets, from which those of Gateways are derived.
	Roots []token.Root
	// Authority are the certificates, as PEM, that the server's leads up to.
	Authority string
	// Audience is for whom tokens are that proxies show to limpet serve, unless they have certificates; empty where it
	// takes none.
	Audience string
}

// Port is one at which a Gateway listens.
type Port struct {
	Number   int32
	Protocol corev1.Protocol
}

// Input is a Gateway with all that its proxies depend on.
type Input struct {
	Gateway *gatewayv1.Gateway
	// Config is what ProxyConfigs come to.
	Config *v1alpha1.ProxyConfigSpec
	// Ports are those of all listeners, from wherever they come.
	Ports    []Port
	Settings Settings
	// Allowed are the keys of its labels and annotations that these objects get.
	Allowed AllowedKeys
	// Replicas is how many there are now; nil where that is not known.
	Replicas *int32
}

// The labels of all objects.
const (
	LabelManagedBy = object.ManagedByLabel
	ManagedBy      = "limpet-serve"
	LabelName      = "app.kubernetes.io/name"
	// LabelProxies is the selector of proxies, with the objects' name.
	LabelProxies = v1alpha1.Group + "/proxies"
)

// proxyName is what proxies are called among the programs of a cluster.
const proxyName = "limpet-envoy"

// Render gives the objects that run a Gateway's proxies, in the order in which they are applied.
func Render(in Input) ([]*unstructured.Unstructured, error) {
	r := renderer{Input: in, name: Name(in.Gateway.Name, string(in.Gateway.Spec.GatewayClassName))}
	if err := r.checkPorts(); err != nil {
		return nil, err
	}
	template, err := r.newTemplate()
	if err != nil {
		return nil, err
	}
	objects := []runtime.Object{r.newSecret(), r.newService()}
	if p := r.newDisruptionBudget(); p != nil {
		objects = append(objects, p)
	}
	if r.Gateway.Annotations[AccountKey] == "" {
		objects = append(objects, r.newServiceAccount())
	}
	if r.isDaemonSet() {
		objects = append(objects, r.newDaemonSet(template))
	} else {
		objects = append(objects, r.newDeployment(template))
	}
	if a := r.newAutoscaler(); a != nil {
		objects = append(objects, a)
	}
	all := make([]*unstructured.Unstructured, len(objects))
	for i, o := range objects {
		if all[i], err = toObject(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkPorts refuses listeners at the ports that proxies have for themselves.
func (r *renderer) checkPorts() error {
	admin := int32(r.adminAddress().Port())
	if admin == ReadyPort {
		return fmt.Errorf("spec.admin.port: Invalid value: %d: it is where proxies say that they are ready", admin)
	}
	for own, what := range map[int32]string{
		ReadyPort: "where proxies say that they are ready", admin: "that of Envoy's admin interface (spec.admin.port)",
	} {
		if slices.Contains(r.Ports, Port{own, corev1.ProtocolTCP}) {
			return fmt.Errorf("a listener has the port %d: it is %s", own, what)
		}
	}
	return nil
}

// toObject gives an object as it is applied: without what others write.
func toObject(o runtime.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	delete(fields, "status")
	for _, path := range [][]string{
		{"metadata", "creationTimestamp"},
		{"spec", "template", "metadata", "creationTimestamp"},
	} {
		unstructured.RemoveNestedField(fields, path...)
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

// renderer makes the objects of a Gateway.
type renderer struct {
	Input
	name string
}

func (r *renderer) isDaemonSet() bool {
	return r.Config.Kind != nil && *r.Config.Kind == v1alpha1.ProxyDaemonSet
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// newMeta is what all objects have: the Gateway as their owner, and what its infrastructure may say. Further labels and
// annotations are those of a ProxyConfig.
func (r *renderer) newMeta(labels, annotations map[string]string) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Name: r.name, Namespace: r.Gateway.Namespace,
		Labels: r.newLabels(labels), Annotations: r.newAnnotations(annotations),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: r.Gateway.Name, UID: r.Gateway.UID,
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
	}
}

func (r *renderer) newLabels(further map[string]string) map[string]string {
	labels := map[string]string{}
	if of := r.Gateway.Spec.Infrastructure; of != nil {
		labels = pick(r.Allowed, of.Labels)
	}
	maps.Copy(labels, further)
	maps.Copy(labels, r.newSelector())
	labels[LabelManagedBy], labels[LabelName] = ManagedBy, proxyName
	for label, value := range map[string]string{
		gatewayv1.GatewayNameLabelKey: r.Gateway.Name, gatewayClassLabel: string(r.Gateway.Spec.GatewayClassName),
	} {
		if len(value) <= validation.LabelValueMaxLength {
			labels[label] = value
		}
	}
	return labels
}

// gatewayClassLabel is GEP-1762's.
const gatewayClassLabel = gatewayv1.GroupName + "/gateway-class-name"

// newSelector has what tells the Gateway's Pods from all others, and never changes.
func (r *renderer) newSelector() map[string]string { return map[string]string{LabelProxies: r.name} }

func (r *renderer) newAnnotations(further map[string]string) map[string]string {
	annotations := map[string]string{}
	if of := r.Gateway.Spec.Infrastructure; of != nil {
		annotations = pick(r.Allowed, of.Annotations)
	}
	maps.Copy(annotations, further)
	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// AccountKey is the annotation that names, on a Gateway, the service account of its proxies, which is there already,
// and the label of one that may be named, with the value "true". accountPrefix and the Gateway's name are that of a
// Gateway without it.
const (
	AccountKey    = v1alpha1.Group + "/proxy-service-account"
	accountPrefix = "limpet-"
)

func (r *renderer) accountName() string { return AccountName(r.Gateway.Name, r.Gateway.Annotations) }

// AccountName is what the service account of a Gateway's proxies is called, which is one of its own namespace.
func AccountName(gateway string, annotations map[string]string) string {
	return cmp.Or(annotations[AccountKey], accountPrefix+gateway)
}

func (r *renderer) newServiceAccount() *corev1.ServiceAccount {
	no := false
	a := &corev1.ServiceAccount{
		TypeMeta: typeMeta("v1", "ServiceAccount"), ObjectMeta: r.newMeta(nil, nil), AutomountServiceAccountToken: &no,
	}
	a.Name = r.accountName()
	return a
}

// The keys of the Secret.
const (
	secretRoot      = "root"
	secretAuthority = "ca.crt"
)

// rootText is what the Gateway's proxies open their keys by (LIMPET_ROOT): secrets that open nothing of another
// Gateway's.
func (r *renderer) rootText() string {
	own := make([]token.Root, len(r.Settings.Roots))
	for i := range own {
		own[i] = r.Settings.Roots[i].ForGateway(token.GatewayID(r.Gateway.Namespace, r.Gateway.Name, string(r.Gateway.UID)))
	}
	return keyfile.RootsText(own)
}

func (r *renderer) newSecret() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: typeMeta("v1", "Secret"), ObjectMeta: r.newMeta(nil, nil), Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{secretRoot: []byte(r.rootText()), secretAuthority: []byte(r.Settings.Authority)},
	}
}
