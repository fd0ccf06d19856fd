package kubernetes

import "time"

// look is one look at what all statuses shall be. Where objects are thousands it takes a processor for up to a second, which changes on
// their way to Envoys need, too, and somebody waits for these: a look gives way to them, and is followed by a rest.
type look struct {
	isBusy         func() bool
	resumed        time.Time // when it went on working
	worked, waited time.Duration
}

const (
	// lookPatience is how many times as long as it works a look waits at most: where changes never end, there are statuses, too.
	lookPatience = 4
	// lookRest is how many times as long as a look works nothing is done for statuses, waiting during it and resting after it together.
	lookRest = 5
	// lookStep is after how long a look that waits sees whether it is to go on.
	lookStep = 2 * time.Millisecond
)

// beginLook begins one that waits while something is so; nil for never.
func beginLook(isBusy func() bool) *look {
	return &look{isBusy: isBusy, resumed: time.Now()}
}

// pause is called between the parts of the work.
func (l *look) pause() {
	l.stop()
	for l.isBusy != nil && l.waited < lookPatience*l.worked && l.isBusy() {
		time.Sleep(lookStep)
		now := time.Now()
		l.waited += now.Sub(l.resumed)
		l.resumed = now
	}
}

// rest ends the look, and gives how long none is to follow.
func (l *look) rest() time.Duration {
	l.stop()
	return lookRest*l.worked - l.waited
}

// stop counts what was worked.
func (l *look) stop() {
	now := time.Now()
	l.worked += now.Sub(l.resumed)
	l.resumed = now
}
