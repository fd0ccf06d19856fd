package proxies

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Name is the name of all objects of a Gateway: its own and its class's (GEP-1762). One that no Service may have is cut
// and gets a hash at the end.
func Name(gateway, class string) string {
	whole := gateway + "-" + class
	if len(validation.IsDNS1035Label(whole)) == 0 {
		return whole
	}
	sum := sha256.Sum256([]byte(gateway + "/" + class))
	short := strings.Trim(strings.ReplaceAll(whole, ".", "-"), "-")
	if short[0] < 'a' {
		short = "gw-" + short
	}
	return strings.TrimRight(short[:min(len(short), 54)], "-") + "-" + hex.EncodeToString(sum[:4])
}
