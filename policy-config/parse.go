package policyconfig

// Parse reads a plugin configuration strictly and completely: every fault there is comes back in the list, and
// then the Config is empty. Without a fault every default is filled in.
//
// The Config shares no memory with data. Parse does not panic, whatever data holds.
func Parse(data string) (Config, ErrorList) {
	d := decoder{text: data}
	c := DefaultConfig()
	c.Keys = Keys{}
	if root, ok := d.open(MaxBytes); ok {
		object(&d, nil, root, configFields, &c)
		c.complete()
		d.checkConfig(&c)
	}
	if errs := d.list(); len(errs) > 0 {
		return Config{}, errs
	}
	return c, nil
}

// ParseKeyRing reads a key ring, the document in the environment variable, in a --keys file and under a seal:
// {"keys": [{"id": ..., "secret": ...}]}. It is as strict as Parse, and no message repeats any of the text.
func ParseKeyRing(data string) (KeyRing, ErrorList) {
	d := decoder{text: data, report: report{hidden: true}}
	var ring KeyRing
	if root, ok := d.open(MaxRingBytes); ok {
		object(&d, nil, root, ringFields, &ring)
		d.checkRing(nil, &ring)
	}
	if errs := d.list(); len(errs) > 0 {
		return KeyRing{}, errs
	}
	return ring, nil
}
