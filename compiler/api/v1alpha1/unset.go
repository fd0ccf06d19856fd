package v1alpha1

import "reflect"

// FieldPath names a field of SessionSettings, or a mapping of them.
//
// +kubebuilder:validation:Enum=sessionName;absoluteTimeout;idleTimeout;renewAfterPercent;drainTimeout;keepUnselected;identity;onHostLost;failStatus;endSessionHeader;issueOn;revealHost;envelope;forward;cookie;cookie.lifetimeType;cookie.path;cookie.domain;cookie.sameSite;cookie.secure;cookie.httpOnly;cookie.partitioned;cookie.crossSite;cookie.attributes;cache;cache.control;cache.skipCacheable;cache.unsafeMethodsOnly;revocation;revocation.epoch;revocation.notBefore;revocation.sessions;revocation.hosts;revocation.backends
type FieldPath string

// IsEmpty reports whether nothing is written.
func (s *SessionSettings) IsEmpty() bool { return reflect.ValueOf(s).Elem().IsZero() }
