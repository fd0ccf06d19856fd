// Package spdx writes bills of materials in SPDX 2.3 JSON. Equal contents give equal bytes.
package spdx

import (
	"encoding/json"
	"strconv"
	"strings"
)

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// Subject is the file that a document is about.
type Subject struct {
	// Name is the file's; Digest is its SHA-256 in hexadecimal.
	Name, Digest string
	// Purpose is SPDX's primaryPackagePurpose.
	Purpose string
	// Version is left out where it is empty.
	Version string
}

// Component is something that is linked into the subject: with the archive's SHA-256 where it is not built with it.
type Component struct{ Name, Version, PURL, Digest string }

// Marshal makes the document of a subject.
func Marshal(of Subject, linked []Component) ([]byte, error) {
	return json.MarshalIndent(document(of, linked), "", "  ")
}

func document(of Subject, linked []Component) object {
	subject := "SPDXRef-" + strings.ReplaceAll(of.Name, "_", "-")
	about := object{
		"SPDXID": subject, "name": of.Name, "downloadLocation": "git+https://github.com/limpet-proxy/limpet",
		"filesAnalyzed": false, "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": of.Purpose,
		"checksums": []object{{"algorithm": "SHA256", "checksumValue": of.Digest}},
	}
	if of.Version != "" {
		about["versionInfo"] = of.Version
	}
	packages := []object{about}
	relations := []object{
		{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": subject},
	}
	for i, c := range linked {
		id := "SPDXRef-" + strconv.Itoa(i+1)
		packages = append(packages, describe(id, c))
		relations = append(
			relations,
			object{"spdxElementId": subject, "relationshipType": "STATIC_LINK", "relatedSpdxElement": id},
		)
	}
	return object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": of.Name,
		"documentNamespace": "https://github.com/limpet-proxy/limpet/sbom/" + of.Digest,
		// The time is fixed, for equal builds shall give equal bytes.
		"creationInfo":  object{"created": "1970-01-01T00:00:00Z", "creators": []string{"Tool: limpet-tools-sbom"}},
		"packages":      packages,
		"relationships": relations,
	}
}

// describe is the package of a component.
func describe(id string, c Component) object {
	p := object{
		"SPDXID": id, "name": c.Name, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
		"externalRefs": []object{
			{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": c.PURL},
		},
	}
	if c.Version != "" {
		p["versionInfo"] = c.Version
	}
	if c.Digest != "" {
		p["checksums"] = []object{{"algorithm": "SHA256", "checksumValue": c.Digest}}
	}
	return p
}
