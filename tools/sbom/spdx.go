package main

import "strconv"

// object is a JSON object; encoding/json writes its keys in order.
type object = map[string]any

// document is the SPDX document of a module with that SHA-256.
func document(digest string, linked []component) object {
	const subject = "SPDXRef-limpet.wasm"
	packages := []object{{
		"SPDXID": subject, "name": "limpet.wasm", "downloadLocation": "git+https://github.com/limpet-proxy/limpet",
		"filesAnalyzed": false, "licenseDeclared": "Apache-2.0", "primaryPackagePurpose": "LIBRARY",
		"checksums": []object{{"algorithm": "SHA256", "checksumValue": digest}},
	}}
	relations := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": subject}}
	for i, c := range linked {
		id := "SPDXRef-" + strconv.Itoa(i+1)
		packages = append(packages, describe(id, c))
		relations = append(relations, object{"spdxElementId": subject, "relationshipType": "STATIC_LINK", "relatedSpdxElement": id})
	}
	return object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "limpet.wasm",
		"documentNamespace": "https://github.com/limpet-proxy/limpet/sbom/" + digest,
		// The time is fixed, for equal builds shall give equal bytes.
		"creationInfo":  object{"created": "1970-01-01T00:00:00Z", "creators": []string{"Tool: limpet-tools-sbom"}},
		"packages":      packages,
		"relationships": relations,
	}
}

// describe is the package of a component.
func describe(id string, c component) object {
	p := object{
		"SPDXID": id, "name": c.name, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
		"externalRefs": []object{{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": c.purl}},
	}
	if c.version != "" {
		p["versionInfo"] = c.version
	}
	if c.digest != "" {
		p["checksums"] = []object{{"algorithm": "SHA256", "checksumValue": c.digest}}
	}
	return p
}
