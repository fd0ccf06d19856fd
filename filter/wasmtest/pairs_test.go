package wasmtest

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

func block(lines ...[2]string) []byte {
	b := bytes.Repeat([]byte{0xff}, pairsSize(lines)) // no byte may be left as it was
	putPairs(b, lines)
	return b
}

func TestPairs(t *testing.T) {
	got := block([2]string{"ab", "c"}, [2]string{"d", ""})
	want := "\x02\x00\x00\x00" + "\x02\x00\x00\x00\x01\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + "ab\x00c\x00" + "d\x00\x00"
	if string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	lines := parsePairs(block([2]string{"X-Ab", "C"}, [2]string{"d", ""}))
	if want := [][2]string{{"x-ab", "C"}, {"d", ""}}; !slices.Equal(lines, want) {
		t.Errorf("got %v, want %v", lines, want)
	}
}

func TestMalformedPairs(t *testing.T) {
	good := block([2]string{"ab", "c"})
	changed := func(at int, to byte) []byte {
		b := slices.Clone(good)
		b[at] = to
		return b
	}
	for name, b := range map[string][]byte{
		"nothing":                nil,
		"half a number":          good[:3],
		"sizes cut off":          good[:9],
		"text cut off":           good[:len(good)-1],
		"a byte too many":        append(slices.Clone(good), 0),
		"more lines than sizes":  changed(0, 2),
		"fewer lines than sizes": changed(0, 0),
		"a name too long":        changed(4, 9),
		"a name without a zero":  changed(14, 'x'),
		"a value without a zero": changed(len(good)-1, 'x'),
		"a huge count":           binary.LittleEndian.AppendUint32(nil, 1<<31),
		"too many lines":         block(make([][2]string, maxPairs+1)...),
		"too large":              block([2]string{"a", strings.Repeat("x", maxPairsBytes)}),
	} {
		if lines := parsePairs(b); len(lines) != 0 {
			t.Errorf("%s: got %v", name, lines)
		}
	}
	if n := len(parsePairs(block(make([][2]string, maxPairs)...))); n != maxPairs {
		t.Errorf("the most lines allowed: got %d", n)
	}
}

// FuzzPairs holds that a block that is read, and has no capitals to make small, is written back as it was.
func FuzzPairs(f *testing.F) {
	f.Add(block())
	f.Add(block([2]string{"ab", "c"}, [2]string{"", ""}))
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		lines := parsePairs(b)
		if len(lines) == 0 || lower(string(b)) != string(b) {
			return
		}
		if again := block(lines...); !bytes.Equal(again, b) {
			t.Errorf("%q became %q", b, again)
		}
	})
}
