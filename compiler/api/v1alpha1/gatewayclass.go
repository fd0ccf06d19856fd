package v1alpha1

// AnnotationUnprotected has limpet serve let a GatewayClass be deleted while Gateways name it, where it is "true" on the class.
const AnnotationUnprotected = Group + "/unprotected"
