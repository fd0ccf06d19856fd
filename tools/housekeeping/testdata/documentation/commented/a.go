package commented

// A group is documented at its head.
const (
	First  = 1
	Second = 2
)

var (
	Third int // Third is documented at its end.
	// Fourth and Fifth share a comment.
	Fourth, Fifth int
	Bare          int
	hidden        int
)

// Type is documented.
type Type struct{ Field int }

func (Type) Method() {}

// Documented is.
func (*Type) Documented() {}

func (*generic[T]) Exported() {}

type generic[T any] struct{}

type BareType[T any] struct{}

func (BareType[T]) BareMethod() {}

func BareFunction() {}
