package follow

import "github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"

// keyedHosts are the virtual hosts of a site as proxies without a ring get them: with the keys of their scopes.
type keyedHosts struct {
	keys  *envoy.GatewayKeys // with which they were written; nil for none
	texts map[*envoy.HostText]keyedText
}

type keyedText struct {
	sessions bool // as in siteHosts
	content  []byte
}

// list gives the texts of a site's hosts, in order, with the keys of their scopes if these travel. Those that have not
// changed are the same ones as the last time.
func (s *siteHosts) list(keys *envoy.GatewayKeys) ([][]byte, error) {
	hosts := make([]*envoy.HostText, 0, len(s.among)+len(s.after))
	texts := make([][]byte, 0, len(s.among)+len(s.after))
	for _, domains := range [][]string{s.among, s.after} {
		for _, d := range domains {
			host := s.host(d)
			hosts, texts = append(hosts, host), append(texts, host.Text(s.sessions))
		}
	}
	if keys != s.keyed.keys {
		s.keyed = keyedHosts{keys: keys}
	}
	if keys == nil {
		return texts, nil
	}
	return texts, s.keyed.put(hosts, s.sessions, texts)
}

// put puts the texts with keys in the place of those without.
func (k *keyedHosts) put(hosts []*envoy.HostText, sessions bool, texts [][]byte) error {
	var missing []envoy.WrittenHost
	var at []int
	for i, h := range hosts {
		if was, is := k.texts[h]; is && was.sessions == sessions {
			texts[i] = was.content
		} else {
			missing, at = append(missing, envoy.WrittenHost{Content: texts[i], Scopes: h.Scopes}), append(at, i)
		}
	}
	written, err := k.keys.AddKeys(missing)
	if err != nil {
		return err
	}
	if len(k.texts)+len(missing) > 2*len(hosts) || k.texts == nil {
		k.keep(hosts)
	}
	for i, content := range written {
		k.texts[hosts[at[i]]], texts[at[i]] = keyedText{sessions, content}, content
	}
	return nil
}

// keep forgets all but some hosts. It comes so seldom that a change costs what it touches.
func (k *keyedHosts) keep(hosts []*envoy.HostText) {
	kept := make(map[*envoy.HostText]keyedText, len(hosts))
	for _, h := range hosts {
		if was, is := k.texts[h]; is {
			kept[h] = was
		}
	}
	k.texts = kept
}
