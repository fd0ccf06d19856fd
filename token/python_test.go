package token

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"reflect"
	"testing"
)

// answer is a line that testdata/verify.py prints: all that a vector says besides the question.
type answer = map[string]any

// isQuestion are the members of vectors that are not answers; name is in both.
var isQuestion = map[string]bool{
	"ring": true, "scope": true, "rules": true, "now": true, "token": true, "envelope": true, "ticket": true, "skew": true, "id": true,
	"root": true, "sealed": true,
}

// TestPythonAgrees gives the vectors, without their answers, to the verifier that was written from
// docs/token-format.md alone, and compares what it makes of them.
func TestPythonAgrees(t *testing.T) {
	questions, want := map[string]any{}, []answer(nil)
	text, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &questions); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"tokens", "envelopes", "tickets", "digests", "fingerprints", "sealed"} {
		vectors, is := questions[kind].([]any)
		if !is {
			t.Fatalf("there are no %s in the vectors", kind)
		}
		for _, v := range vectors {
			want = append(want, takeAnswer(v.(map[string]any)))
		}
	}
	got := runPython(t, questions)
	if len(got) != len(want) {
		t.Fatalf("python3 answered %d vectors of %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("python3 says %s, want %s", oneLine(t, got[i]), oneLine(t, want[i]))
		}
	}
}

// takeAnswer takes the answer out of a vector.
func takeAnswer(vector map[string]any) answer {
	a := answer{}
	for name, value := range vector {
		if !isQuestion[name] {
			a[name] = value
		}
		if !isQuestion[name] && name != "name" {
			delete(vector, name)
		}
	}
	return a
}

func runPython(t *testing.T, questions map[string]any) (answers []answer) {
	cmd := exec.Command("python3", "testdata/verify.py")
	cmd.Stdin = bytes.NewReader(oneLine(t, questions))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v\n%s", err, stderr.String())
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var a answer
		if err := decoder.Decode(&a); err == io.EOF {
			return answers
		} else if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
}
