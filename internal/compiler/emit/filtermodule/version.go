package filtermodule

import (
	"fmt"
	"strings"
)

// The minor versions of Envoy 1 that matter to the native filter (docs/native.md): the first that has all functions
// that it needs, and those that it was run with.
const (
	oldestLoading = 38
	oldestTried   = 39
	newestTried   = 40
)

// nativeExtension is the name under which an Envoy lists that it loads such filters.
const nativeExtension = "envoy.extensions.filters.http.dynamic_modules"

// JudgeEnvoy says why an Envoy of a version, such as 1.40.0, does not load the native filter, or what there is to doubt
// about it. Both are empty for a good one, and for a version that can't be read.
func JudgeEnvoy(version string) (fault, doubt string) {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return "", ""
	}
	switch {
	case major < 1 || major == 1 && minor < oldestLoading:
		return fmt.Sprintf("Envoy %s can't load the native filter, which needs functions of Envoy 1.%d: "+
			"use Envoy 1.%d or newer, or --filter wasm", version, oldestLoading, oldestTried), ""
	case major > 1 || minor < oldestTried || minor > newestTried:
		return "", fmt.Sprintf("the native filter was not tried with Envoy %s, but with 1.%d and 1.%d: "+
			"an interface that has changed can end Envoy; --filter wasm does not depend on it",
			version, oldestTried, newestTried)
	}
	return "", ""
}

// JudgeExtensions is JudgeEnvoy for what an Envoy says that it has; nothing for one that does not say.
func JudgeExtensions(names []string) (fault string) {
	isListed := len(names) == 0
	for _, name := range names {
		isListed = isListed || strings.HasSuffix(name, nativeExtension)
	}
	if isListed {
		return ""
	}
	return "this Envoy was built without dynamic modules and can't load the native filter: use one that has them, or " +
		"--filter wasm"
}
