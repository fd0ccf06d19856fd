package status

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// YAML writes statuses as one document each.
func YAML(objects []Object) ([]byte, error) {
	var all bytes.Buffer
	for i, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("%s %s/%s: %w", o.Kind, o.Metadata.Namespace, o.Metadata.Name, err)
		}
		if i > 0 {
			all.WriteString("---\n")
		}
		all.Write(text)
	}
	return all.Bytes(), nil
}

// JSON writes statuses as a List, the way kubectl does, with the findings next to them.
func JSON(objects []Object, findings []Row) ([]byte, error) {
	list := struct {
		APIVersion string   `json:"apiVersion"`
		Kind       string   `json:"kind"`
		Items      []Object `json:"items"`
		Findings   []Row    `json:"findings"`
	}{"v1", "List", objects, append([]Row{}, findings...)}
	if objects == nil {
		list.Items = []Object{}
	}
	text, err := json.MarshalIndent(list, "", "  ")
	return append(text, '\n'), err
}
