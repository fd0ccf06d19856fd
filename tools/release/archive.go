package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// epoch is the time of everything in archives and images: bytes shall not depend on when they were made.
var epoch = time.Unix(0, 0).UTC()

// file is one of an archive.
type file struct {
	name string
	mode int64
	data []byte
}

// packTar makes a tar of files in their order, with the folders that they are in.
func packTar(files []file) ([]byte, error) {
	var text bytes.Buffer
	archive := tar.NewWriter(&text)
	made := map[string]bool{".": true}
	for _, f := range files {
		if err := writeFolders(archive, made, filepath.Dir(f.name)); err != nil {
			return nil, err
		}
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return text.Bytes(), err
}

// writeFolders writes those that are not written yet, the outermost first.
func writeFolders(archive *tar.Writer, made map[string]bool, dir string) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := writeFolders(archive, made, filepath.Dir(dir)); err != nil {
		return err
	}
	return archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: epoch, Format: tar.FormatUSTAR,
	})
}

// zip compresses. The result is that of this release of Go, which go.mod names, as the binaries are.
func zip(data []byte) ([]byte, error) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return zipped.Bytes(), err
}

// archiveName is the file with the program for a platform.
func (r *release) archiveName(p platform) string {
	return "limpet_" + r.version + "_" + p.String() + ".tar.gz"
}

// writeArchives writes an archive for each platform: the program, completions, man pages and licence.
func (r *release) writeArchives() error {
	common, err := r.commonFiles()
	if err != nil {
		return err
	}
	for _, p := range platforms {
		program, err := os.ReadFile(r.binary(p))
		if err != nil {
			return err
		}
		archive, err := packTar(append([]file{{"limpet", 0o755, program}}, common...))
		if err != nil {
			return err
		}
		if archive, err = zip(archive); err != nil {
			return err
		}
		if err := r.write(r.archiveName(p), archive); err != nil {
			return err
		}
	}
	return nil
}

// completeScript is what kubectl runs to complete the arguments of its plugin.
const completeScript = "#!/bin/sh\nexec kubectl limpet __complete \"$@\"\n"

// commonFiles are those of all archives but the program, which says them.
func (r *release) commonFiles() ([]file, error) {
	var all []file
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.tree, name))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name, 0o644, data})
	}
	all = append(all, file{"kubectl_complete-limpet", 0o755, []byte(completeScript)})
	for shell, name := range map[string]string{
		"bash": "limpet.bash", "fish": "limpet.fish", "powershell": "limpet.ps1",
		"zsh": "_limpet",
	} {
		text, err := exec.Command(r.binary(own()), "completion", shell).Output()
		if err != nil {
			return nil, err
		}
		all = append(all, file{"completions/" + name, 0o644, text})
	}
	pages, err := r.manPages()
	all = append(all, pages...)
	sortFiles(all)
	return all, err
}

func (r *release) manPages() (all []file, err error) {
	dir := filepath.Join(r.work, "man")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := exec.Command(r.binary(own()), "man", dir).Run(); err != nil {
		return nil, err
	}
	return all, fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		all = append(all, file{"man/man1/" + path, 0o644, data})
		return err
	})
}
