package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// registerTarget registers --target. Its help is a purpose, with the targets behind it.
func registerTarget(f *pflag.FlagSet, target *string, purpose string) {
	f.StringVarP(
		target,
		"target",
		"t",
		string(compiler.TargetEnvoy),
		purpose+" `"+strings.Join(compiler.Targets(), "|")+"`",
	)
}

// checkTarget refuses what is no target.
func checkTarget(target string) error { return checkChoice("target", target, compiler.Targets()...) }
