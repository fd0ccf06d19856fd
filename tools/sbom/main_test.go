package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

const testTinyGo = "tinygo version 0.41.1 linux/amd64 (using go version go1.26.8 and LLVM version 19.1.7)\n"

// generated makes the document for a stand-in of the module, from the root of the repository as the Makefile does.
func generated(t *testing.T) []byte {
	t.Helper()
	t.Chdir("../..")
	wasm := filepath.Join(t.TempDir(), "limpet.wasm")
	if err := os.WriteFile(wasm, []byte("module"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := generate(wasm, testTinyGo)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryLinkedComponentIsListed(t *testing.T) {
	var doc struct {
		Packages []struct {
			SPDXID, Name, VersionInfo string
			Checksums                 []struct{ ChecksumValue string }
		}
		Relationships []struct{ RelatedSpdxElement string }
	}
	if err := json.Unmarshal(generated(t), &doc); err != nil {
		t.Fatal(err)
	}
	related, versions := map[string]bool{}, map[string]string{}
	for _, r := range doc.Relationships {
		related[r.RelatedSpdxElement] = true
	}
	for _, p := range doc.Packages {
		if archive := p.Name == "compiler-rt" || p.Name == "wasi-libc"; archive && len(p.Checksums) != 1 {
			t.Errorf("%s has no checksum", p.Name)
		}
		versions[p.Name] = p.VersionInfo
		if !related[p.SPDXID] {
			t.Errorf("nothing relates to %s", p.Name)
		}
	}
	const digest = "120970d812836f19888625587a4606a5ad23cef31c8684e601771552548fc6b9" // of "module"
	if got := doc.Packages[0].Checksums[0].ChecksumValue; got != digest {
		t.Errorf("checksum %s, want %s", got, digest)
	}
	for name, want := range map[string]string{
		"tinygo": "0.41.1", "stdlib": "1.26.8", "limpet.wasm": "",
		"compiler-rt": "1:19.1.7-3~deb12u1", "wasi-libc": "0.0~git20220510.9886d3d-2",
	} {
		if got, listed := versions[name]; !listed || got != want {
			t.Errorf("%s: listed %v, version %q", name, listed, got)
		}
	}
	for _, name := range []string{"github.com/tetratelabs/proxy-wasm-go-sdk", "github.com/tidwall/gjson", "golang.org/x/crypto"} {
		if versions[name] == "" {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestEqualBuildsGiveEqualBytes(t *testing.T) {
	first := generated(t)
	t.Chdir("tools/sbom")
	if !bytes.Equal(generated(t), first) {
		t.Error("two runs differ")
	}
}

func TestAnUnknownToolchainIsRefused(t *testing.T) {
	if _, err := toolchain("tinygo version 0.41.1"); err == nil {
		t.Error("accepted a version without Go's and LLVM's")
	}
}
