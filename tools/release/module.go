package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// modulePath is that of go.mod.
const modulePath = "github.com/limpet-proxy/limpet"

// writeModule writes what "go install" gets: the tree with the filters in it, as a module proxy has it, and as a commit
// to tag. The filters are in no commit of a branch; in the tagged one they are, and so in the module of that version.
func (r *release) writeModule() error {
	commit, err := r.makeCommit()
	if err != nil {
		return err
	}
	if err := r.write("commit.txt", []byte(commit+"\n")); err != nil {
		return err
	}
	tree := filepath.Join(r.work, "module")
	if err := r.extract(commit, tree); err != nil {
		return err
	}
	var zipped bytes.Buffer
	if err := modzip.CreateFromDir(&zipped, module.Version{Path: modulePath, Version: r.version}, tree); err != nil {
		return err
	}
	needs, err := os.ReadFile(filepath.Join(tree, "go.mod"))
	if err != nil {
		return err
	}
	when, err := r.git("show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]string{"Version": r.version, "Time": unixTime(when)})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{
		"list": []byte(r.version + "\n"), r.version + ".info": info, r.version + ".mod": needs,
		r.version + ".zip": zipped.Bytes(),
	} {
		if err := r.write(filepath.Join("goproxy", modulePath, "@v", name), data); err != nil {
			return err
		}
	}
	return nil
}

// makeCommit makes a commit on top of HEAD that has the filters too. Nothing refers to it but what is printed: a tag
// may. It is the same wherever it is made, for its author and time are those of HEAD.
func (r *release) makeCommit() (string, error) {
	filters, err := r.filters()
	if err != nil {
		return "", err
	}
	index := "GIT_INDEX_FILE=" + filepath.Join(r.work, "index")
	if _, err := r.gitWith([]string{index}, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	for _, path := range filters {
		blob, err := r.git("hash-object", "-w", path)
		if err != nil {
			return "", err
		}
		entry := "100644," + blob + ",cmd/limpet/filters/" + filepath.Base(path)
		if _, err := r.gitWith([]string{index}, "update-index", "--add", "--cacheinfo", entry); err != nil {
			return "", err
		}
	}
	tree, err := r.gitWith([]string{index}, "write-tree")
	if err != nil {
		return "", err
	}
	if before, err := r.git("rev-parse", "HEAD^{tree}"); err != nil || before == tree {
		head, _ := r.git("rev-parse", "HEAD") // HEAD has the filters already: it is the tagged commit
		return head, err
	}
	who, err := r.git("show", "-s", "--format=%an%n%ae%n%aI", "HEAD")
	if err != nil {
		return "", err
	}
	by := strings.SplitN(who, "\n", 3)
	var env []string
	for _, role := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+role+"_NAME="+by[0], "GIT_"+role+"_EMAIL="+by[1], "GIT_"+role+"_DATE="+by[2])
	}
	return r.gitWith(
		env,
		"commit-tree",
		"-p",
		"HEAD",
		"-m",
		"release: "+r.version+" with its filters",
		"--no-gpg-sign",
		tree,
	)
}

// extract writes the tree of a commit into a folder.
func (r *release) extract(commit, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	archive := exec.Command("git", "archive", "--format=tar", commit)
	archive.Dir, archive.Stderr = r.tree, os.Stderr
	text, err := archive.Output()
	if err != nil {
		return err
	}
	unpack := exec.Command("tar", "-x", "-C", dir)
	unpack.Stdin, unpack.Stderr = bytes.NewReader(text), os.Stderr
	return unpack.Run()
}

func (r *release) git(args ...string) (string, error) { return r.gitWith(nil, args...) }

// gitWith runs git in the tree with some environment more, and gives what it prints.
func (r *release) gitWith(env []string, args ...string) (string, error) {
	command := exec.Command("git", args...)
	command.Dir, command.Env, command.Stderr = r.tree, append(os.Environ(), env...), os.Stderr
	text, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}

// unixTime is a time in seconds as Go's proxies write it.
func unixTime(seconds string) string {
	var n int64
	_, _ = fmt.Sscan(seconds, &n)
	return time.Unix(n, 0).UTC().Format(time.RFC3339)
}
