package main

import (
	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/around"
)

func (cc *compileCommand) checkAround() error {
	switch {
	case cc.around == "":
		return nil
	case compiler.Target(cc.target) != compiler.TargetPlugin:
		return usagef("--around needs -t plugin")
	}
	return checkChoice("around", cc.around, around.Envoy, around.Istio)
}

// addAround adds the document that has the plugin's configuration and what stands around it, as the main document.
func (cc *compileCommand) addAround(result *compiler.Result) error {
	if cc.around == "" || len(result.Files) == 0 {
		return nil
	}
	text, err := around.Write(cc.around, result.Main())
	if err != nil {
		return err
	}
	result.Files = append(result.Files, compiler.File{Name: "around-" + cc.around + ".yaml", Data: text})
	return nil
}
