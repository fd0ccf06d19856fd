package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
)

// Owners remembers whose addresses were, which no EndpointSlice says: an address that passes to another pod must not
// take the sessions of the one before with it.
type Owners struct {
	// Of has each address that is known.
	Of map[compiler.HostKey]compiler.HostOwner

	table   table[compiler.HostKey, rememberedOwner]
	touched map[compiler.HostKey]bool       // that have changed since they were stored
	history map[compiler.HostKey]pastOwners // of those that have any
}

// pastOwners are the pods that had an address before. gone is since when the address has no pod; zero while it has one.
type pastOwners struct {
	former []string
	gone   time.Time
}

// maxFormer is how many former pods of an address are known, so that slices which still name them are not taken for
// news. maxOwners is how many addresses are; those that have been without a pod for the longest time are forgotten
// first.
const (
	maxFormer = 4
	maxOwners = 100_000
)

// rememberedOwner is an address in the store.
type rememberedOwner struct {
	UID    string    `json:"uid"`
	Reused bool      `json:"reused,omitempty"`
	Live   bool      `json:"live,omitempty"`
	Former []string  `json:"former,omitempty"`
	Gone   time.Time `json:"gone,omitzero"`
}

func newOwners(s Store) (*Owners, error) {
	t, read, err := load[compiler.HostKey](s, rememberedOwner.isWorthIt)
	o := &Owners{
		Of: map[compiler.HostKey]compiler.HostOwner{}, table: t, history: map[compiler.HostKey]pastOwners{},
		touched: map[compiler.HostKey]bool{},
	}
	for at, r := range read {
		o.Of[at] = compiler.HostOwner{UID: r.UID, Reused: r.Reused, Live: r.Live}
		o.history[at] = pastOwners{r.Former, r.Gone}
	}
	return o, err
}

// Update notes which pods are at which addresses, by their uids: none where a pod has gone, and with whole nowhere else
// either. It gives the addresses that have passed to another pod, in order, which proxies do not know before
// [Owners.Confirm]. Nobody may be led to them before [Owners.Keep] says that they are remembered.
func (o *Owners) Update(
	pods map[compiler.HostKey][]string, whole bool, now time.Time,
) (moved []compiler.HostKey) {
	for at, uids := range pods {
		if len(uids) > 0 && o.seeAt(at, uids) {
			moved = append(moved, at)
		}
		o.notePresence(at, len(uids) > 0, now)
	}
	if whole {
		for at := range o.Of {
			if len(pods[at]) == 0 {
				o.notePresence(at, false, now)
			}
		}
	}
	o.forgetOldest()
	slices.SortFunc(moved, compiler.HostKey.Compare)
	return moved
}

// Keep stores what has changed since the last time; with a function soon, and that is called then.
func (o *Owners) Keep(kept func()) error {
	if len(o.touched) == 0 {
		return nil
	}
	for at := range o.touched {
		if _, known := o.Of[at]; !known {
			o.table.remove(at)
		} else if err := o.table.set(at, o.describe(at)); err != nil {
			return err
		}
	}
	err := o.table.save(kept)
	if err == nil {
		clear(o.touched)
	}
	return err
}

// seeAt notes the pods that slices name at one address, and tells whether that has passed to another one. Several are
// one that is new, and others that are gone there.
func (o *Owners) seeAt(at compiler.HostKey, uids []string) (passed bool) {
	known, is := o.Of[at]
	past := o.history[at]
	next := known.UID
	if !is || !slices.Contains(uids, known.UID) {
		next = uids[0]
	}
	for _, uid := range uids {
		if uid != known.UID && !slices.Contains(past.former, uid) {
			next = uid
		}
	}
	switch {
	case !is:
		o.Of[at], o.touched[at] = compiler.HostOwner{UID: next}, true
		return false
	case next == known.UID:
		return false
	}
	o.touched[at] = true
	o.Of[at] = compiler.HostOwner{UID: next, Reused: true}
	former := append(slices.DeleteFunc(past.former, func(uid string) bool { return uid == next }), known.UID)
	o.history[at] = pastOwners{former: former[max(0, len(former)-maxFormer):]}
	return true
}

// notePresence notes that an address that is known is without a pod, or is so no more.
func (o *Owners) notePresence(at compiler.HostKey, there bool, now time.Time) {
	past := o.history[at]
	if _, known := o.Of[at]; !known || there == past.gone.IsZero() {
		return
	}
	past.gone = time.Time{}
	if !there {
		past.gone = now.Round(0)
	}
	o.history[at], o.touched[at] = past, true
}

// forgetOldest keeps the memory bounded.
func (o *Owners) forgetOldest() {
	if len(o.Of) <= maxOwners || len(o.touched) == 0 {
		return
	}
	var gone []compiler.HostKey
	for at, past := range o.history {
		if !past.gone.IsZero() {
			gone = append(gone, at)
		}
	}
	slices.SortFunc(gone, func(a, b compiler.HostKey) int {
		return cmp.Or(o.history[a].gone.Compare(o.history[b].gone), a.Compare(b))
	})
	for _, at := range gone[:min(len(gone), len(o.Of)-maxOwners)] {
		delete(o.Of, at)
		delete(o.history, at)
		o.touched[at] = true
	}
}

// IsPending tells whether addresses have passed to pods of which proxies do not know.
func (o *Owners) IsPending() bool {
	for _, known := range o.Of {
		if known.Reused && !known.Live {
			return true
		}
	}
	return false
}

// Confirm says that proxies know all that was seen. It tells whether there was something that they did not know.
func (o *Owners) Confirm() (changed bool, err error) {
	for at, known := range o.Of {
		if known.Reused && !known.Live {
			known.Live, changed = true, true
			o.Of[at], o.touched[at] = known, true
		}
	}
	return changed, o.Keep(nil)
}

func (o *Owners) describe(at compiler.HostKey) rememberedOwner {
	known, past := o.Of[at], o.history[at]
	return rememberedOwner{known.UID, known.Reused, known.Live, past.former, past.gone}
}

// isWorthIt leaves out what objects say, and who is forgotten: slices say of an address that had one pod the same
// again. But one that has no pod now may get another.
func (r rememberedOwner) isWorthIt() bool { return r.Reused || !r.Gone.IsZero() }

// isSameOwner tells whether what two processes remember of an address is the same.
func isSameOwner(a, b rememberedOwner) bool {
	return a.UID == b.UID && a.Reused == b.Reused && a.Live == b.Live && a.Gone.IsZero() == b.Gone.IsZero()
}
