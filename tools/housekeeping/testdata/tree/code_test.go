package tree

import "testing"

func TestAnswer(t *testing.T) {
	small := Answer()
	if small != 42 {
		t.Fatal(small)
	}
}
