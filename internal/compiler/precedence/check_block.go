package precedence

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// placeholder takes the place of what a block by itself lacks.
const placeholder = "x-limpet-unnamed"

// CheckBlock checks a block by itself, whatever document it comes from, and also for what a CRD lets through (S49):
// what the plugin's configuration would refuse, and timeouts of 0. The paths lead into the source.
func CheckBlock(b SettingsBlock) policyconfig.ErrorList {
	if b.Settings == nil {
		return nil
	}
	errs := checkUnset(&b)
	p := newDefaultPolicy()
	p.Name, p.Scope, p.Routes, p.SessionName = placeholder, placeholder, []string{placeholder}, placeholder
	if b.Settings.Type != nil && *b.Settings.Type == policyconfig.TypeHeader && b.Settings.Cookie == nil {
		p.Cookie = nil // a cookie that is there stays, for the configuration to refuse
	}
	errs = append(errs, b.applyTo(p)...)
	if i := b.Settings.Identity; i != nil && !slices.Contains(v1alpha1.Identities, *i) {
		errs = append(errs, policyconfig.Error{
			Path:    b.Path + ".identity",
			Message: fmt.Sprintf("Unsupported value: %q: supported values: \"Pod\", \"Name\", \"Address\"", *i),
		})
	}
	if p.Envelope && b.Settings.Cookie != nil {
		errs = append(errs, policyconfig.Error{
			Path:    b.Path + ".cookie",
			Message: "Forbidden: may not be set together with envelope: the application chooses its cookie's attributes",
		})
	}
	config := policyconfig.DefaultConfig()
	config.Policies = []policyconfig.Policy{*p}
	for _, fault := range b.translateFaults(policyconfig.Validate(config)) {
		if !slices.ContainsFunc(errs, func(e policyconfig.Error) bool { return e.Path == fault.Path }) {
			errs = append(errs, fault) // no value missing where one could not be read
		}
	}
	return errs
}

// applyTo puts the block's values into a policy, those that can be read.
func (b *SettingsBlock) applyTo(p *pluginPolicy) (errs policyconfig.ErrorList) {
	for f := range fieldTable {
		w, err := fieldTable[f].readBlock(b)
		switch {
		case err != nil:
			errs = append(errs, policyconfig.Error{Path: w.Path, Message: fmt.Sprintf("Invalid value: %q: %v", w.Text, err)})
		case w != nil && w.Value != nil && fieldTable[f].apply != nil:
			fieldTable[f].apply(p, w.Value)
		}
	}
	return errs
}

// translateFaults leads the configuration's own complaints back to the block's fields.
func (b *SettingsBlock) translateFaults(err error) policyconfig.ErrorList {
	var faults policyconfig.ErrorList
	if err != nil && !errors.As(err, &faults) {
		faults = policyconfig.ErrorList{{Message: err.Error()}}
	}
	for i := range faults {
		faults[i].Path = b.fieldPath(strings.TrimPrefix(faults[i].Path, "policies[0]."))
	}
	return faults
}

// fieldPath is where the block writes a field, or would; one of a list's items is led to the list.
func (b *SettingsBlock) fieldPath(name string) string {
	item := ""
	if i := strings.IndexByte(name, '['); i >= 0 {
		name, item = name[:i], name[i:]
	}
	f, known := fieldIndex[name]
	if !known {
		return strings.TrimSuffix(b.Path+"."+name, ".")
	}
	if w, _ := fieldTable[f].readBlock(b); w != nil && w.Value != nil {
		return w.Path + item
	}
	return b.Path + "." + fieldTable[f].pathIn(b.Release)
}
