package memory

import "github.com/limpet-proxy/limpet/compiler"

// Selected remembers which pods Services selected, and which they have left (S42).
type Selected struct {
	// Now is the current selection.
	Now   *compiler.Selection
	table table[string, *compiler.SelectedPod]
}

func newSelected(s Store) (*Selected, error) {
	// Which pods Services select is worth nothing: slices will say it again.
	t, pods, err := load[string](s, func(p *compiler.SelectedPod) bool { return p != nil && !p.Left.IsZero() })
	for key, p := range pods {
		if p == nil || !p.Address.IsValid() {
			delete(pods, key)
			t.remove(key)
		}
	}
	return &Selected{Now: compiler.NewSelection(pods), table: t}, err
}

// Update stores the selection of a result.
func (s *Selected) Update(now *compiler.Selection) error {
	before := s.Now
	if now == before || now == nil {
		return nil
	}
	s.Now = now
	return s.table.replace(before.Pods, now.Pods, func(a, b *compiler.SelectedPod) bool { return a == b })
}

// isSamePod tells whether two processes saw the Service lose the same pod at about the same time.
func isSamePod(a, b compiler.SelectedPod) bool { return a.UID == b.UID && isSameTime(a.Left, b.Left) }
