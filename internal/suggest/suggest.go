// Package suggest finds the word that a user may have meant by one that is not known.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// maxDistance is how many letters may be missing, wrong or too many in a word of some length.
const maxDistance = 2

// maxLength bounds the words that are looked at; longer ones are near to nothing.
const maxLength = 100

// leastPart is how long a word is at least that stands for one which it begins or ends.
const leastPart = 4

// Nearest gives the word among others that is nearest to one or to its singular, whatever the case, else the first that
// begins or ends with it, or has a word more in its midst; empty if there is none. Of two that are as near it takes the
// first.
func Nearest(word string, among []string) string {
	if len(word) > maxLength {
		return ""
	}
	best, least := "", min(maxDistance, (len(word)+1)/3)+1
	for _, other := range among {
		if max(len(word)-len(other), len(other)-len(word)) > maxDistance {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(other)); d < least {
			best, least = other, d
		}
	}
	if stem, plural := strings.CutSuffix(word, "ies"); best == "" && plural {
		return Nearest(stem+"y", among)
	}
	if best == "" && len(word) >= leastPart {
		if i := slices.IndexFunc(among, func(other string) bool { return isPart(word, other) }); i >= 0 {
			return among[i]
		}
	}
	return best
}

// isPart tells whether another word begins or ends with one, or is that one with words left out: SessionPolicy.
func isPart(word, other string) bool {
	part, whole := strings.ToLower(word), strings.ToLower(other)
	if strings.HasSuffix(whole, part) || strings.HasPrefix(whole, part) {
		return true
	}
	for i := 1; i < len(word); i++ {
		if 'A' <= word[i] && word[i] <= 'Z' && len(word) < len(other) && strings.HasPrefix(other, word[:i]) &&
			strings.HasSuffix(other, word[i:]) {
			return true
		}
	}
	return false
}

// DidYouMean is a question to be put behind a message, empty if no word is near.
func DidYouMean(word string, among []string) string {
	if near := Nearest(word, among); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Value is [DidYouMean] for one of some values, within a message: what becomes of it follows.
func Value[T any](value any, among []T) string {
	var texts []string
	for _, v := range among {
		texts = append(texts, fmt.Sprint(v))
	}
	if near := Nearest(fmt.Sprint(value), texts); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// distance is Levenshtein's, with two neighbours that changed places counted as one fault.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now := make([]int, len(b)+1)
		now[0] = i + 1
		for j := range len(b) {
			wrong := last[j]
			if a[i] != b[j] {
				wrong++
			}
			now[j+1] = min(wrong, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last = last, now
	}
	return last[len(b)]
}
