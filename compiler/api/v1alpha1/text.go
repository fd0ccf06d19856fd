package v1alpha1

// SessionName is the name of a cookie or header: an RFC 9110 token, as Gateway API 1.7 has it.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
type SessionName string

// HeaderName is the name of a header that an operator chooses: an RFC 9110 token that means nothing to HTTP, to
// proxies, to browsers, to gRPC or to limpet already.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^(accept|accept-.*|access-control-.*|age|authentication-info|authorization|cache-control|connection|content-.*|cookie|date|etag|expect|expires|forwarded|grpc-.*|host|http2-settings|if-.*|keep-alive|last-modified|location|origin|pragma|proxy-.*|range|referer|retry-after|sec-.*|server|set-cookie|strict-transport-security|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|www-authenticate|x-envoy-.*|x-forwarded-.*|x-limpet-pin|x-limpet-shard|x-request-id)$')",message="must not be a header that HTTP, proxies, browsers or limpet itself use"
type HeaderName string

// CookieAttribute is a further attribute of a cookie, written as Name or Name=Value.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=1024
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+(=([!-:<-~]([ -:<-~]*[!-:<-~])?)?)?$`
// +kubebuilder:validation:XValidation:rule="!self.matches('(?i)^(path|domain|secure|httponly|samesite|partitioned|max-age|expires)(=|$)')",message="must not be an attribute that has a field or a rule of its own"
type CookieAttribute string

// Duration is GEP-2257 text, such as 1h30m: whole seconds, at most ten years (87600h).
//
// +kubebuilder:validation:MaxLength=28
// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self).getMilliseconds() % 1000 == 0",message="must be whole seconds"
// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) <= duration('87600h')",message="must be at most 87600h"
type Duration string

// Time is RFC 3339 text of whole seconds after 1970-01-01T00:00:00Z, such as 2026-11-21T08:00:00Z.
//
// +kubebuilder:validation:MaxLength=25
// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$') || timestamp(self) > timestamp('1970-01-01T00:00:00Z')",message="must be after 1970-01-01T00:00:00Z"
type Time string

// RevokedSession is a session id of 16 hexadecimal digits and when the session ends, such as "0102030405060708 until
// 2026-11-22T20:00:00Z", or the id alone.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[0-9a-f]{16}( until [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$`
// +kubebuilder:validation:XValidation:rule="self != '0000000000000000' && !self.startsWith('0000000000000000 ')",message="no session has the id 0"
// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9a-f]{16} until [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$') || timestamp(self.substring(23)) > timestamp('1970-01-01T00:00:00Z')",message="must be after 1970-01-01T00:00:00Z"
type RevokedSession string

// RevokedHost is an IP address and a port, and before when sessions came to it that are void, such as "10.0.0.1:8080 before
// 2026-11-22T20:00:00Z".
//
// +kubebuilder:validation:MaxLength=96
// +kubebuilder:validation:Pattern=`^([0-9.]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4} before [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^[^ ]+ before [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$') || timestamp(self.split(' ')[2]) > timestamp('1970-01-01T00:00:00Z')",message="must be after 1970-01-01T00:00:00Z"
type RevokedHost string

// RevokedBackend is a backend, and before when sessions came to one of its hosts that are void, such as "shop/cart-v2:80 before
// 2026-11-22T20:00:00Z".
//
// +kubebuilder:validation:MaxLength=384
// +kubebuilder:validation:Pattern=`^(xbackend/)?[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?:[1-9][0-9]{0,4}(/[a-z0-9]([a-z0-9-]*[a-z0-9])?)? before [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
// +kubebuilder:validation:XValidation:rule="!self.matches('^[^ ]+ before [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$') || timestamp(self.split(' ')[2]) > timestamp('1970-01-01T00:00:00Z')",message="must be after 1970-01-01T00:00:00Z"
type RevokedBackend string
