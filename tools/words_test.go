package tools

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// houseWords is words.txt: words that neither Gateway API, Envoy nor Kubernetes has for what limpet called so, and where they may be.
type houseWords struct {
	words, phrases []string
	allowed        map[string]bool // FOLDER NAME, or a NAME that may be anywhere
}

func readHouseWords(t *testing.T) houseWords {
	t.Helper()
	text, err := os.ReadFile("words.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := houseWords{allowed: map[string]bool{}}
	for _, line := range strings.Split(string(text), "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		value, _, _ := strings.Cut(rest, "  ")
		switch kind {
		case "word":
			w.words = append(w.words, value)
		case "phrase":
			w.phrases = append(w.phrases, value)
		case "allowed":
			w.allowed[value] = true
		case "#", "":
		default:
			t.Fatalf("words.txt: %q", line)
		}
	}
	return w
}

var humps = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// findWord gives the word of the house in a name or metric; empty for none.
func (w houseWords) findWord(name string) string {
	for _, part := range humps.FindAllString(name, -1) {
		if slices.Contains(w.words, strings.ToLower(part)) {
			return part
		}
	}
	return ""
}

// TestWords: names in the code, metrics and messages for people have the words of Gateway API, Envoy, Kubernetes and
// docs/concepts.md.
func TestWords(t *testing.T) {
	w, files := readHouseWords(t), 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testdata", ".git", "dist"}, entry.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"), strings.HasPrefix(entry.Name(), "zz_"):
			return nil
		}
		files++
		folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		inspectWords(file, func(at token.Pos, text, why string) {
			if why == "" || w.allowed[text] || w.allowed[folder+" "+text] {
				return
			}
			t.Errorf("%s: %s has %q, which tools/words.txt says how to replace", set.Position(at), text, why)
		}, w)
		return nil
	})
	if err != nil || files < 1000 {
		t.Fatal(files, err)
	}
}

// inspectWords visits the names that a file declares, the metrics that it names and its messages, each with the word that it has.
func inspectWords(file *ast.File, visit func(at token.Pos, text, why string), w houseWords) {
	name := func(id *ast.Ident) { visit(id.Pos(), id.Name, w.findWord(id.Name)) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name(n.Name)
		case *ast.TypeSpec:
			name(n.Name)
		case *ast.ValueSpec:
			each(n.Names, name)
		case *ast.Field:
			each(n.Names, name)
		case *ast.RangeStmt:
			eachDefined(n.Tok, []ast.Expr{n.Key, n.Value}, name)
		case *ast.AssignStmt:
			eachDefined(n.Tok, n.Lhs, name)
		case *ast.BasicLit:
			if metric, err := strconv.Unquote(n.Value); err == nil && strings.HasPrefix(metric, "limpet_") && !strings.Contains(metric, " ") {
				visit(n.Pos(), metric, w.findWord(metric))
			}
		case *ast.CallExpr:
			if text, is := messageOf(n); is {
				i := slices.IndexFunc(w.phrases, func(p string) bool { return regexp.MustCompile(`\b` + p + `\b`).MatchString(text) })
				if i >= 0 {
					visit(n.Pos(), text, w.phrases[i])
				}
			}
		}
		return true
	})
}

func each(names []*ast.Ident, name func(*ast.Ident)) {
	for _, id := range names {
		name(id)
	}
}

func eachDefined(tok token.Token, exprs []ast.Expr, name func(*ast.Ident)) {
	for _, e := range exprs {
		if id, is := e.(*ast.Ident); is && tok == token.DEFINE {
			name(id)
		}
	}
}

// messageOf is the text of a call that logs or prints for people.
func messageOf(call *ast.CallExpr) (text string, is bool) {
	f, is := call.Fun.(*ast.SelectorExpr)
	if !is || !slices.Contains([]string{"Debug", "Info", "Warn", "Error", "Print", "Printf", "PrintWarning", "WarnAt", "AdviseAt"}, f.Sel.Name) {
		return "", false
	}
	for _, argument := range call.Args {
		ast.Inspect(argument, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && literal.Kind == token.STRING {
				if value, err := strconv.Unquote(literal.Value); err == nil {
					text += value
				}
			}
			return true
		})
	}
	return text, text != ""
}
