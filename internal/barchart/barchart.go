// Package barchart draws measurements of the documentation.
package barchart

import (
	"fmt"
	"html"
	"strings"
)

// The chart's measures in pixels.
const (
	width       = 820
	labelWidth  = 390
	valueWidth  = 60
	lineHeight  = 24
	margin      = 10
	barHeight   = 12
	titleHeight = 34
)

// Bar is a measurement, as long as its middle, with a line from its lower to its upper end.
type Bar struct {
	Title          string
	Low, Mid, High float64
	// Value is what is written beside it.
	Value string
	// Ours marks it with a color.
	Ours bool
}

// Draw draws bars under a title, as an SVG that reads on light and dark backgrounds.
func Draw(title string, bars []Bar) string {
	longest := 1.0
	for _, one := range bars {
		longest = max(longest, one.High)
	}
	scale := (width - labelWidth - valueWidth - margin) / longest
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		width,
		titleHeight+len(bars)*lineHeight+margin,
	)
	b.WriteString("<style>text{fill:#444}@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>\n")
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">%s</text>`+"\n", margin, html.EscapeString(title))
	for i, one := range bars {
		one.draw(&b, titleHeight+i*lineHeight, scale)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw draws one line of the chart at a height of y.
func (bar Bar) draw(b *strings.Builder, y int, scale float64) {
	color := "#9a9a9a"
	if bar.Ours {
		color = "#2a7f9e"
	}
	text, middle := y+barHeight, y+barHeight/2+2
	at := func(v float64) float64 { return labelWidth + max(0, v)*scale }
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-8, text, html.EscapeString(bar.Title))
	fmt.Fprintf(
		b,
		`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`,
		labelWidth,
		y+2,
		at(bar.Mid)-labelWidth,
		barHeight,
		color,
	)
	fmt.Fprintf(b, `<path d="M%.1f %dH%.1f" stroke="#d08a2e" stroke-width="2"/>`, at(bar.Low), middle, at(bar.High))
	end := at(max(bar.High, bar.Mid)) + 6
	fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`+"\n", end, text, html.EscapeString(bar.Value))
}
