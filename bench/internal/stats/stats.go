// Package stats compares measurements that were taken side by side, in rounds: what it says of them holds for the
// rounds as they are paired, so that whatever slows a whole round down cancels out.
package stats

import (
	"math/rand/v2"
	"slices"
)

// resamples is how many times the rounds are drawn again for an interval.
const resamples = 4000

// Interval is an estimate with its 90 % interval.
type Interval struct{ Low, Mid, High float64 }

// Rounds are one quantity's measurements, one for each round.
type Rounds []float64

// Median is the middle of the measurements; of an even number, the mean of the two in the middle. It is 0 without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Estimate is a quantity computed from rounds, given by their numbers: from all of them, or from a sample drawn with
// repeats.
type Estimate func(rounds []int) float64

// Bootstrap gives an estimate its interval: the middle 90 % of what it is over samples of the rounds, drawn with
// repeats. Each sample takes all of a round's measurements together, which is what pairs them. The same rounds give the
// same interval.
func Bootstrap(rounds int, estimate Estimate) Interval {
	if rounds == 0 {
		return Interval{}
	}
	all := make([]int, rounds)
	for i := range all {
		all[i] = i
	}
	random := rand.New(rand.NewPCG(1, uint64(rounds))) //nolint:gosec // sampling, no secret; the seed makes it repeatable
	results, sample := make([]float64, resamples), make([]int, rounds)
	for i := range results {
		for j := range sample {
			sample[j] = random.IntN(rounds)
		}
		results[i] = estimate(sample)
	}
	slices.Sort(results)
	return Interval{Low: results[resamples/20], Mid: estimate(all), High: results[resamples-1-resamples/20]}
}

// Over is the median of a minus b, round by round.
func Over(a, b Rounds) Estimate {
	return func(rounds []int) float64 {
		differences := make([]float64, len(rounds))
		for i, r := range rounds {
			differences[i] = a[r] - b[r]
		}
		return Median(differences)
	}
}

// Value is the median of a.
func Value(a Rounds) Estimate { return Over(a, make(Rounds, len(a))) }

// Ratio is one estimate divided by another over the same rounds.
func Ratio(a, b Estimate) Estimate {
	return func(rounds []int) float64 { return a(rounds) / b(rounds) }
}
