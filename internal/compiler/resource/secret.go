package resource

import (
	"encoding/base64"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

var secretKind = newKind(definition[Secret]{
	kind: "Secret", versions: []string{"v1"}, nameRule: apivalidation.NameIsDNSSubdomain,
	fields: func() support.Fields {
		return support.Join(
			support.All("type", "data", "stringData"),
			support.Fields{"immutable": support.Ignored("is for the API server")},
		)
	},
	validate: validateSecret,
	list:     func(o *Objects) *[]*Object[Secret] { return &o.Secrets },
})

// Secret is the kind Secret, with its data as the document's text: an error must not show the data.
type Secret struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Immutable         *bool             `json:"immutable,omitempty"`
	Type              corev1.SecretType `json:"type,omitempty"`
	// Data is base64; StringData is plain, and stronger.
	Data       map[string]string `json:"data,omitempty"`
	StringData map[string]string `json:"stringData,omitempty"`
	// content is what both come to, for the type kubernetes.io/tls; of an Opaque one the certificates of authorities alone
	// are read.
	content map[string][]byte
}

// Certificate gives the chain and the private key of a Secret of the type kubernetes.io/tls, which has both.
func (s *Secret) Certificate() (chain, key []byte) {
	return s.content[corev1.TLSCertKey], s.content[corev1.TLSPrivateKeyKey]
}

// Authorities gives the certificates of authorities of a Secret, in PEM; empty for none.
func (s *Secret) Authorities() string { return string(s.content[authoritiesKey]) }

// validateSecret applies the API server's rules for Secrets of the type kubernetes.io/tls. Those of others are not
// used, so their content is not looked at.
func validateSecret(s *Secret) field.ErrorList {
	if s.Type != corev1.SecretTypeTLS {
		s.keepAuthorities()
		return nil
	}
	var errs field.ErrorList
	data := field.NewPath("data")
	s.content = map[string][]byte{}
	for name, text := range s.Data {
		errs = append(errs, validateSecretKey(data, name)...)
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			errs = append(errs, newHiddenError(data.Key(name), "must be base64, which the value is not"))
		}
		s.content[name] = content
	}
	for name, text := range s.StringData {
		errs = append(errs, validateSecretKey(field.NewPath("stringData"), name)...)
		s.content[name] = []byte(text)
	}
	s.Data, s.StringData = nil, nil
	size := 0
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		size += len(s.content[name])
		if _, has := s.content[name]; !has {
			errs = append(errs, field.Required(data.Key(name), "a Secret of the type kubernetes.io/tls has it"))
		}
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, newHiddenError(data, fmt.Sprintf("must be at most %d bytes", corev1.MaxSecretSize)))
	}
	slices.SortFunc(errs, func(a, b *field.Error) int { return slices.Compare([]byte(a.Field), []byte(b.Field)) })
	return errs
}

// keepAuthorities reads the certificates of authorities of an Opaque Secret, where Contour's users have them, and
// forgets the rest.
func (s *Secret) keepAuthorities() {
	if s.Type == corev1.SecretTypeOpaque || s.Type == "" {
		text, plain := s.StringData[authoritiesKey]
		if !plain {
			content, _ := base64.StdEncoding.DecodeString(s.Data[authoritiesKey]) // what is none has no certificates
			text = string(content)
		}
		s.content = map[string][]byte{authoritiesKey: []byte(text)}
	}
	s.Data, s.StringData = nil, nil
}

func validateSecretKey(path *field.Path, name string) field.ErrorList {
	var errs field.ErrorList
	for _, why := range validation.IsConfigMapKey(name) {
		errs = append(errs, field.Invalid(path, name, why))
	}
	return errs
}

// newHiddenError is the error for a value that must not be shown.
func newHiddenError(path *field.Path, why string) *field.Error {
	return field.Invalid(path, field.OmitValueType{}, why)
}
