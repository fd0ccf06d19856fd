package kubernetes

import (
	"context"
	"errors"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// scheme has the groups whose objects are read and written as Go types. client-go's own clients bring those of all
// groups of Kubernetes, and of all versions: a sixth of what a first build compiles.
var (
	scheme     = newScheme(authenticationv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme)
	codecs     = serializer.NewCodecFactory(scheme)
	parameters = runtime.NewParameterCodec(scheme)
)

func newScheme(groups ...func(*runtime.Scheme) error) *runtime.Scheme {
	all := runtime.NewScheme()
	var failed error
	for _, add := range groups {
		failed = errors.Join(failed, add(all))
	}
	if failed != nil {
		panic(failed) // two types of one name
	}
	return all
}

// newClient makes a client for a group of types, as client-go's own are made.
func newClient(config *rest.Config, group schema.GroupVersion) (*rest.RESTClient, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion, own.APIPath = &group, rootOf(group)
	own.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return rest.RESTClientFor(own)
}

// rootOf is the path below which an API server has a group.
func rootOf(group schema.GroupVersion) string {
	if group.Group == "" {
		return "/api"
	}
	return "/apis"
}

// Objects are those of a kind in a namespace of an API server.
type Objects[T, L any] interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Create(ctx context.Context, one T, o metav1.CreateOptions) (T, error)
	Update(ctx context.Context, one T, o metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// Secrets are those of a namespace.
type Secrets = Objects[*corev1.Secret, *corev1.SecretList]

type (
	configMaps = Objects[*corev1.ConfigMap, *corev1.ConfigMapList]
	leases     = Objects[*coordinationv1.Lease, *coordinationv1.LeaseList]
)

// NewSecrets gives the Secrets of a namespace.
func NewSecrets(config *rest.Config, namespace string) (Secrets, error) {
	client, err := newClient(config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return secretsOf(client, namespace), nil
}

// secretsOf is for who follows a Secret with the same client.
func secretsOf(client *rest.RESTClient, namespace string) Secrets {
	return objects[corev1.Secret, corev1.SecretList, *corev1.Secret, *corev1.SecretList]{client, namespace, "secrets"}
}

func newConfigMaps(config *rest.Config, namespace string) (configMaps, error) {
	return newObjects[corev1.ConfigMap, corev1.ConfigMapList](config, corev1.SchemeGroupVersion, namespace, "configmaps")
}

func newPods(config *rest.Config, namespace string) (Objects[*corev1.Pod, *corev1.PodList], error) {
	return newObjects[corev1.Pod, corev1.PodList](config, corev1.SchemeGroupVersion, namespace, "pods")
}

func newLeases(config *rest.Config, namespace string) (leases, error) {
	return newObjects[coordinationv1.Lease, coordinationv1.LeaseList](
		config, coordinationv1.SchemeGroupVersion, namespace, "leases",
	)
}

func newObjects[T, L any, P namedObject[T], Q listObject[L]](
	config *rest.Config, group schema.GroupVersion, namespace, resource string,
) (Objects[P, Q], error) {
	client, err := newClient(config, group)
	if err != nil {
		return nil, err
	}
	return objects[T, L, P, Q]{client, namespace, resource}, nil
}

// objects makes the requests that client-go's gentype does, whose package brings what tests need, too.
type objects[T, L any, P namedObject[T], Q listObject[L]] struct {
	client              *rest.RESTClient
	namespace, resource string
}

// namedObject is a pointer to an object that has a name.
type namedObject[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// listObject is a pointer to a list of objects.
type listObject[L any] interface {
	*L
	runtime.Object
}

// finish gives a request what all have.
func (c objects[T, L, P, Q]) finish(r *rest.Request) *rest.Request {
	return r.UseProtobufAsDefault().NamespaceIfScoped(c.namespace, c.namespace != "").Resource(c.resource)
}

func (c objects[T, L, P, Q]) Get(ctx context.Context, name string, o metav1.GetOptions) (P, error) {
	one := P(new(T))
	return one, c.finish(c.client.Get()).Name(name).VersionedParams(&o, parameters).Do(ctx).Into(one)
}

func (c objects[T, L, P, Q]) List(ctx context.Context, o metav1.ListOptions) (Q, error) {
	list := Q(new(L))
	return list, c.finish(c.client.Get()).VersionedParams(&o, parameters).Do(ctx).Into(list)
}

func (c objects[T, L, P, Q]) Create(ctx context.Context, one P, o metav1.CreateOptions) (P, error) {
	made := P(new(T))
	return made, c.finish(c.client.Post()).VersionedParams(&o, parameters).Body(one).Do(ctx).Into(made)
}

func (c objects[T, L, P, Q]) Update(ctx context.Context, one P, o metav1.UpdateOptions) (P, error) {
	written := P(new(T))
	request := c.finish(c.client.Put()).Name(one.GetName()).VersionedParams(&o, parameters)
	return written, request.Body(one).Do(ctx).Into(written)
}

func (c objects[T, L, P, Q]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return c.finish(c.client.Delete()).Name(name).Body(&o).Do(ctx).Error()
}
