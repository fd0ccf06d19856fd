package rollout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// Folder is the discovery folder that Envoy watches.
type Folder struct {
	// Path is where it is; it is made when it is missing.
	Path string
	// Mode is that of the files: 0600 where keys are in them.
	Mode fs.FileMode

	versions map[string]string // of what was written, by path
}

// Tighten sets the mode of files, but never to one that more may read: on the way to a configuration without keys there are files that
// have those of the one before.
func (d *Folder) Tighten(mode fs.FileMode) {
	if d.Mode == 0 || mode < d.Mode {
		d.Mode = mode
	}
}

// keepMode leaves files to their owner alone where an earlier program did, for what it wrote has keys.
func (d *Folder) keepMode() {
	for _, name := range []string{envoy.ListenersFile, envoy.ClustersFile} {
		if info, err := os.Stat(filepath.Join(d.Path, name)); err == nil && info.Mode().Perm()&0o077 == 0 {
			d.Tighten(0o600)
		}
	}
}

// findMissing gives those files that are not there yet.
func (d *Folder) findMissing(files []File) []File {
	var found []File
	for _, f := range files {
		if d.versions[f.Path] != f.Version {
			found = append(found, f)
		}
	}
	return found
}

// put writes a file. Envoy sees it whole or not at all: it takes over what is moved into the file's place. Nothing is
// flushed to the disk, for every start writes all files anew.
func (d *Folder) put(f File) error {
	path := filepath.Join(d.Path, f.Path)
	if err := atomicfile.Write(path, f.Data, d.Mode); err != nil {
		return err
	}
	d.remember(f)
	return nil
}

func (d *Folder) remember(f File) {
	if d.versions == nil {
		d.versions = map[string]string{}
	}
	d.versions[f.Path] = f.Version
}

// remove takes a file away; one that is not there is no fault.
func (d *Folder) remove(path string) error {
	delete(d.versions, path)
	err := os.Remove(filepath.Join(d.Path, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// listenersJSON is a file of versions that wrote JSON.
const listenersJSON = "lds.json"

// Clear removes files that are not among those written or read: a program before this one left them.
func (d *Folder) Clear() error {
	var errs []error
	for _, pattern := range []string{"eds/*" + envoy.FileSuffix, "rds/*" + envoy.FileSuffix, "[elc]*ds.json", "[er]ds/*.json"} {
		found, err := filepath.Glob(filepath.Join(d.Path, pattern))
		errs = append(errs, err)
		for _, path := range found {
			relative, err := filepath.Rel(d.Path, path)
			errs = append(errs, err)
			if _, ours := d.versions[relative]; !ours {
				errs = append(errs, os.Remove(path))
			}
		}
	}
	return errors.Join(errs...)
}
