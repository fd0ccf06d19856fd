package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 100, 2}, 3},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
}

// A machine that slows down from round to round makes every measurement worthless and leaves the differences exact.
func TestBootstrapPairs(t *testing.T) {
	var none, filter, peer Rounds
	for round := range 20 {
		drift := 10 * float64(round)
		none, filter, peer = append(none, 40+drift), append(filter, 50+drift), append(peer, 60+drift)
	}
	if got, want := Bootstrap(20, Over(filter, none)), (Interval{10, 10, 10}); got != want {
		t.Errorf("over none: %v, want %v", got, want)
	}
	ratio := Ratio(Over(filter, none), Over(peer, none))
	if got, want := Bootstrap(20, ratio), (Interval{0.5, 0.5, 0.5}); got != want {
		t.Errorf("ratio: %v, want %v", got, want)
	}
	if got := Bootstrap(20, Value(none)); got.Low >= got.Mid || got.Mid >= got.High {
		t.Errorf("the drift does not show in the interval of the values: %v", got)
	}
}

// Of 200 intervals around the median of 21 normal numbers about 180 hold the true one. The generator's seed is fixed.
func TestBootstrapCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	held := 0
	const trials = 200
	for range trials {
		a := make(Rounds, 21)
		for i := range a {
			a[i] = 5 + random.NormFloat64()
		}
		if got := Bootstrap(len(a), Value(a)); got.Low <= 5 && 5 <= got.High {
			held++
		}
	}
	if share := float64(held) / trials; math.Abs(share-0.9) > 0.06 {
		t.Errorf("%.0f %% of the intervals hold the true value, want about 90 %%", 100*share)
	}
}

func TestBootstrapRepeats(t *testing.T) {
	a := Rounds{1, 5, 2, 8, 3, 9, 4}
	if one, two := Bootstrap(len(a), Value(a)), Bootstrap(len(a), Value(a)); one != two {
		t.Errorf("%v and %v from the same rounds", one, two)
	}
	if got := Bootstrap(0, Value(nil)); got != (Interval{}) {
		t.Errorf("without rounds: %v", got)
	}
}
