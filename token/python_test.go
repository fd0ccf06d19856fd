package token

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"reflect"
	"testing"
)

// answer is a line that testdata/verify.py prints.
type answer struct {
	Name    string       `json:"name"`
	Verdict string       `json:"verdict"`
	Reason  string       `json:"reason"`
	Session *sessionJSON `json:"session"`
	Opens   *bool        `json:"opens"`
	Plain   string       `json:"plain"`
}

// TestPythonAgrees gives the vectors, without their answers, to the verifier that was written from
// docs/token-format.md alone, and compares what it makes of them.
func TestPythonAgrees(t *testing.T) {
	file := readVectors(t)
	var want []answer
	for i := range file.Tokens {
		v := &file.Tokens[i]
		want = append(want, answer{Name: v.Name, Verdict: v.Verdict, Reason: v.Reason, Session: v.Session})
		v.Verdict, v.Reason, v.Session = "", "", nil
	}
	for i := range file.Sealed {
		v := &file.Sealed[i]
		want = append(want, answer{Name: v.Name, Opens: v.Opens, Plain: v.Plain})
		v.Opens, v.Plain = nil, ""
	}
	got := runPython(t, file)
	if len(got) != len(want) {
		t.Fatalf("python3 answered %d vectors of %d", len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("python3 says %s, want %s", oneLine(t, got[i]), oneLine(t, want[i]))
		}
	}
}

func runPython(t *testing.T, questions vectorFile) (answers []answer) {
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
