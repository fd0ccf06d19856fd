package serve

import (
	"reflect"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// Story is what proxies of a Gateway tell of its requests.
type Story = envoy.Story

// told is a configuration with a story.
type told struct {
	of, made *envoy.Served
	story    Story
}

// tell gives what is served of a Gateway with its story, the same one as long as neither changes.
func (s *Output) tell(d *envoy.Served) *envoy.Served {
	if s.Story == nil {
		return d
	}
	story := s.Story(d.Gateway)
	if story == nil {
		delete(s.told, d.Gateway)
		return d
	}
	if last := s.told[d.Gateway]; last.of == d && reflect.DeepEqual(last.story, *story) {
		return last.made
	}
	made, err := d.WithStory(*story)
	if err != nil { // limpet has made the listeners itself
		return d
	}
	if s.told == nil {
		s.told = map[string]told{}
	}
	s.told[d.Gateway] = told{d, made, *story}
	return made
}
