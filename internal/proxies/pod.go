package proxies

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// HelperFolder is where Envoy's container has what "limpet drain --install" puts there.
const HelperFolder = "/limpet/bin"

// The other paths in Envoy's container.
const (
	helperPath     = HelperFolder + "/limpet"
	serverFolder   = "/limpet/server"
	identityFolder = "/limpet/identity"
)

// ReadyPort is where proxies say that they are ready. No listener may have it.
const ReadyPort = 19001

const (
	defaultAdmin    = 9901
	defaultDrain    = 60 * time.Second
	defaultMinDrain = 10 * time.Second
	// graceMargin is how much longer a Pod may take to end than its proxy to drain.
	graceMargin = 10 * time.Second
)

// secretHash is the annotation by which Pods are rolled when what their Secret has changes: no proxy reads it twice.
const secretHash = v1alpha1.Group + "/secret-hash"

// newTemplate is the Pod of a proxy, which takes nothing that it does not need.
func (r *renderer) newTemplate() (t corev1.PodTemplateSpec, err error) {
	own := r.Config.Pod
	if own == nil {
		own = &v1alpha1.ProxyPod{}
	}
	bootstrap, err := r.newBootstrap()
	if err != nil {
		return t, err
	}
	drain, least := r.drainTimes()
	annotations := map[string]string{}
	maps.Copy(annotations, own.Annotations)
	sum := sha256.Sum256([]byte(r.rootText() + "\n" + r.Settings.Authority))
	annotations[secretHash] = hex.EncodeToString(sum[:8])
	grace := int64((drain + graceMargin).Seconds())
	t.Labels, t.Annotations = r.newLabels(own.Labels), r.newAnnotations(annotations)
	no := false
	t.Spec = corev1.PodSpec{
		ServiceAccountName: r.accountName(), AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		TerminationGracePeriodSeconds: &grace, SecurityContext: newPodSecurity(),
		InitContainers: []corev1.Container{r.newHelper()},
		Containers:     []corev1.Container{r.newEnvoy(string(bootstrap), drain, least)},
		Volumes:        r.newVolumes(), NodeSelector: own.NodeSelector, Tolerations: own.Tolerations, Affinity: own.Affinity,
		TopologySpreadConstraints: r.newSpread(own.TopologySpreadConstraints),
	}
	for _, s := range r.Config.ImagePullSecrets {
		t.Spec.ImagePullSecrets = append(t.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s.Name})
	}
	if own.PriorityClassName != nil {
		t.Spec.PriorityClassName = *own.PriorityClassName
	}
	return t, nil
}

// drainTimes are how long a proxy drains at most and at least.
func (r *renderer) drainTimes() (most, least time.Duration) {
	most, least = defaultDrain, defaultMinDrain
	if s := r.Config.Shutdown; s != nil {
		most, least = parseDuration(s.DrainTimeout, most), parseDuration(s.MinDrain, least)
	}
	return most, min(most, least)
}

func parseDuration(d *v1alpha1.Duration, otherwise time.Duration) time.Duration {
	if d == nil {
		return otherwise
	}
	parsed, err := time.ParseDuration(string(*d))
	if err != nil {
		return otherwise
	}
	return parsed
}

// newSpread puts proxies on different nodes where that can be, unless something else is said.
func (r *renderer) newSpread(own []corev1.TopologySpreadConstraint) []corev1.TopologySpreadConstraint {
	selector := &metav1.LabelSelector{MatchLabels: r.newSelector()}
	if len(own) == 0 {
		return []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: selector,
		}}
	}
	all := make([]corev1.TopologySpreadConstraint, len(own))
	for i := range own {
		own[i].DeepCopyInto(&all[i])
		if all[i].LabelSelector == nil {
			all[i].LabelSelector = selector
		}
	}
	return all
}

// plainUser is whom containers run as: no image needs to name a user.
const plainUser = 65532

func newPodSecurity() *corev1.PodSecurityContext {
	yes, user := true, int64(plainUser)
	return &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user, FSGroup: &user,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		// so that listeners may have ports below 1024; a sysctl that every node takes
		Sysctls: []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}},
	}
}

func newSecurity() *corev1.SecurityContext {
	yes, no := true, false
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// newHelper puts limpet where Envoy's container finds it, whose image may have nothing besides Envoy.
func (r *renderer) newHelper() corev1.Container {
	return corev1.Container{
		Name: "helper", Image: r.Settings.HelperImage, ImagePullPolicy: r.pullPolicy(),
		Args:            []string{"drain", "--install", helperPath}, // of limpet, which is what its image runs
		VolumeMounts:    []corev1.VolumeMount{{Name: "helper", MountPath: HelperFolder}},
		SecurityContext: newSecurity(),
	}
}

func (r *renderer) pullPolicy() corev1.PullPolicy {
	if r.Config.ImagePullPolicy != nil {
		return *r.Config.ImagePullPolicy
	}
	return ""
}

func (r *renderer) newVolumes() []corev1.Volume {
	all := []corev1.Volume{
		{Name: "helper", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "server", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: r.name, Items: []corev1.KeyToPath{{Key: secretAuthority, Path: secretAuthority}},
		}}},
	}
	identity := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
		ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: r.Settings.Audience, Path: tokenFile},
	}}}}
	if name := r.identitySecret(); name != "" {
		identity = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
	}
	return append(all, corev1.Volume{Name: "identity", VolumeSource: identity})
}

// tokenFile is where the token of a proxy's service account is, in identityFolder.
const tokenFile = "token"

func (r *renderer) identitySecret() string {
	if i := r.Config.Identity; i != nil && i.SecretName != nil {
		return *i.SecretName
	}
	return ""
}

// newEnvoy is the container of the proxy. It leaves by draining: limpet has Envoy say so, and waits.
func (r *renderer) newEnvoy(bootstrap string, drain, least time.Duration) corev1.Container {
	c := corev1.Container{
		Name: "envoy", Image: r.Settings.Image, ImagePullPolicy: r.pullPolicy(), Command: []string{"envoy"},
		Args: []string{
			"--config-yaml", strings.ReplaceAll(bootstrap, "$(", "$$("), "--service-node", "$(POD_NAME)",
			"--disable-hot-restart",
			"--log-level", "warning",
		},
		Env: []corev1.EnvVar{
			{
				Name:      "POD_NAME",
				ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
			},
			{Name: policyconfig.RootSecretEnv, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: r.name}, Key: secretRoot,
			}}},
		},
		Ports: []corev1.ContainerPort{{Name: "ready", ContainerPort: ReadyPort}},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "helper", MountPath: HelperFolder, ReadOnly: true},
			{Name: "server", MountPath: serverFolder, ReadOnly: true},
			{Name: "identity", MountPath: identityFolder, ReadOnly: true},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{
				HTTPGet: &corev1.HTTPGetAction{Path: envoy.ReadyPage, Port: intstr.FromInt32(ReadyPort)},
			},
			PeriodSeconds: 1, FailureThreshold: 2,
		},
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{
			helperPath, "drain", "--admin", r.adminAddress().String(), "--timeout", drain.String(), "--at-least", least.String(),
		}}}},
		SecurityContext: newSecurity(),
	}
	if r.Config.Image != nil {
		c.Image = *r.Config.Image
	}
	if r.Config.LogLevel != nil {
		c.Args[len(c.Args)-1] = *r.Config.LogLevel
	}
	if n := r.countWorkers(); n > 0 {
		c.Args = append(c.Args, "--concurrency", strconv.FormatInt(n, 10))
	}
	if r.Config.Resources != nil {
		c.Resources = *r.Config.Resources
	}
	return c
}

// countWorkers is how many worker threads Envoy has; 0 leaves that to Envoy, which takes one for each processor of the
// node.
func (r *renderer) countWorkers() int64 {
	if r.Config.Concurrency != nil {
		return int64(*r.Config.Concurrency)
	}
	if r.Config.Resources == nil {
		return 0
	}
	limit := r.Config.Resources.Limits.Cpu()
	return limit.Value() // rounded up
}

func (r *renderer) adminAddress() netip.AddrPort {
	port := uint16(defaultAdmin)
	if a := r.Config.Admin; a != nil && a.Port != nil {
		port = uint16(*a.Port) //nolint:gosec // the API takes no other
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// newBootstrap is what Envoy starts from.
func (r *renderer) newBootstrap() ([]byte, error) {
	key := r.Gateway.Namespace + "/" + r.Gateway.Name
	b := envoy.ServerBootstrap{
		Gateway: key, Node: key, Server: r.Settings.Server, Modules: r.Settings.Modules, Admin: r.adminAddress(),
		Ready: netip.AddrPortFrom(r.Settings.Bind, ReadyPort),
	}
	if t := r.Config.Tracing; t != nil {
		b.Traces = t.Endpoint
	}
	if a := r.Config.Admin; a != nil && a.AllPages != nil {
		b.AdminAll = *a.AllPages
	}
	host, _, err := net.SplitHostPort(r.Settings.Server)
	if err != nil {
		return nil, err
	}
	b.TLS = &envoy.ServerTLS{Authority: serverFolder + "/" + secretAuthority, Name: host}
	switch {
	case r.identitySecret() != "":
		b.TLS.Certificate, b.TLS.Key = identityFolder+"/"+corev1.TLSCertKey, identityFolder+"/"+corev1.TLSPrivateKeyKey
	case r.Settings.Audience != "":
		b.TLS.Token = identityFolder + "/" + tokenFile
	default:
		return nil, errNoIdentity
	}
	text, err := b.YAML()
	if err != nil {
		return nil, err
	}
	text, err = mergeBootstrap(text, r.Config.Bootstrap)
	if err != nil {
		return nil, fmt.Errorf("the bootstrap: %w", err)
	}
	return text, nil
}

// errNoIdentity says that proxies could not show whose they are.
var errNoIdentity = errors.New("spec.identity.secretName: Required value: of a Secret of type kubernetes.io/tls in " +
	"the Gateway's namespace, with the certificate by which limpet serve knows its proxies; or have limpet serve take " +
	"tokens, by --token-audience")
