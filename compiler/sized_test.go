package compiler

import "os"

// sized is how large a sample of random changes is: usually, and in "make worlds", which takes all of them.
func sized(usual, all int) int {
	if os.Getenv("LIMPET_LONG") != "" {
		return all
	}
	return usual
}
