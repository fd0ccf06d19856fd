package read

import "bytes"

// Diff gives the sources that are new or have other bytes, and the names of those that are gone. Lists in the order of
// their names are looked through once, and the bytes of one and the same slice are not. Of lists in another order more
// may be given than has changed: who takes out what is gone and then puts in what is new has what is in after.
func Diff(before, after []Source) (set []Source, gone []string) {
	i := 0
	for _, now := range after {
		for i < len(before) && before[i].Name < now.Name {
			gone = append(gone, before[i].Name)
			i++
		}
		if i == len(before) || before[i].Name != now.Name {
			set = append(set, now)
			continue
		}
		if !bytes.Equal(before[i].Data, now.Data) {
			set = append(set, now)
		}
		i++
	}
	for ; i < len(before); i++ {
		gone = append(gone, before[i].Name)
	}
	return set, gone
}
