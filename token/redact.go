package token

// Whoever prints a key, a ring or a scope sees no secret: package fmt would otherwise print unexported fields too.

// String returns the key's id.
func (k Key) String() string { return "key " + k.ID + " [secret]" }

// GoString is what %#v prints.
func (k Key) GoString() string { return k.String() }

// String returns a placeholder.
func (r *Ring) String() string { return "[key ring]" }

// GoString is what %#v prints.
func (r *Ring) GoString() string { return r.String() }

// String returns a placeholder.
func (s *Scope) String() string { return "[scope]" }

// GoString is what %#v prints.
func (s *Scope) GoString() string { return s.String() }
