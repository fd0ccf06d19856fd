package policyconfig

import "errors"

// Load reads the key ring from wherever k says. getenv is the environment of the program that runs the filter, and
// unseal opens sealed text with the root secrets in that variable's text; package token has it. No error holds what was
// read.
func (k Keys) Load(
	getenv func(string) string,
	unseal func(roots, sealed string) (plain string, err error),
) (KeyRing, []error) {
	if k.Ring != nil {
		return *k.Ring, nil
	}
	name := k.EnvironmentVariable()
	source, text := "the environment variable "+name, getenv(name)
	switch {
	case k.Sealed != "":
		plain, err := unseal(text, k.Sealed)
		if err != nil {
			return KeyRing{}, []error{
				errors.New("keys.sealed: with the root secret in " + source + ", " + passedOn + ": " + err.Error()),
			}
		}
		source, text = "keys.sealed", plain
	case text == "":
		return KeyRing{}, []error{
			errors.New("keys.fromEnv: " + source + " is empty; put a key ring there ('limpet keygen' prints one), " +
				passedOn),
		}
	}
	ring, list := ParseKeyRing(text)
	errs := make([]error, 0, len(list))
	for _, e := range list {
		errs = append(errs, errors.New("key ring in "+source+": "+e.Error()))
	}
	return ring, errs
}

// passedOn says how limpet.wasm gets a variable; the native filter has Envoy's.
const passedOn = "which limpet.wasm has if vm_config.environment_variables names it"
