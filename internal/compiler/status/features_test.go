package status

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// unsupportedFeatures are what limpet does not have, and why.
var unsupportedFeatures = map[gatewayv1.FeatureName]string{
	"GatewayInfrastructure":  "nothing is made for a Gateway that could have its labels",
	"GatewayStaticAddresses": "which addresses a network has is not known to a compiler",
}

// TestFeatures holds that of each feature of the API it is said whether limpet has it: all but meshes'. Those that it has are in
// order, and no more than a status may have.
func TestFeatures(t *testing.T) {
	for f := range features.AllFeatures {
		name := gatewayv1.FeatureName(f.Name)
		listed, refused := slices.Contains(supportedFeatures, name), unsupportedFeatures[name] != "" || strings.HasPrefix(string(name), "Mesh")
		if listed == refused {
			t.Errorf("%s: listed %t, refused %t", name, listed, refused)
		}
	}
	for _, name := range supportedFeatures {
		if !slices.ContainsFunc(features.AllFeatures.UnsortedList(), func(f features.Feature) bool { return gatewayv1.FeatureName(f.Name) == name }) {
			t.Errorf("%s is no feature of the API", name)
		}
	}
	if !slices.IsSorted(supportedFeatures) || len(supportedFeatures) > 64 {
		t.Error("a status has at most 64 features, in order")
	}
}
