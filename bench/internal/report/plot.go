package report

import (
	"fmt"
	"html"
	"strings"
)

// The plot's measures in pixels.
const (
	plotWidth   = 820
	labelWidth  = 390
	valueWidth  = 60
	lineHeight  = 24
	plotMargin  = 10
	barHeight   = 12
	titleHeight = 34
)

// Plot draws what each request costs over no filter, with its 90 % interval, as an SVG that reads on light and dark
// backgrounds.
func Plot(costs []Cost) string {
	var bars []Cost
	longest := 1.0
	for _, c := range costs {
		if !c.Base && !c.Aside {
			bars = append(bars, c)
			longest = max(longest, c.Over.High)
		}
	}
	height := titleHeight + len(bars)*lineHeight + plotMargin
	scale := (plotWidth - labelWidth - valueWidth - plotMargin) / longest
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth,
		height,
	)
	b.WriteString("<style>text{fill:#444}@media(prefers-color-scheme:dark){text{fill:#ccc}}</style>\n")
	fmt.Fprintf(
		&b,
		`<text x="%d" y="20" font-size="14">`+
			`Processor time of Envoy over no filter, µs a request (median, 90 %% interval)</text>`+"\n",
		plotMargin,
	)
	for i, c := range bars {
		bar(&b, c, titleHeight+i*lineHeight, scale)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// bar draws one line of the plot at a height of y.
func bar(b *strings.Builder, c Cost, y int, scale float64) {
	color := "#9a9a9a"
	if strings.HasPrefix(c.Title, "limpet") {
		color = "#2a7f9e"
	}
	text, middle := y+barHeight, y+barHeight/2+2
	at := func(v float64) float64 { return labelWidth + max(0, v)*scale }
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, labelWidth-8, text, html.EscapeString(c.Title))
	fmt.Fprintf(
		b,
		`<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`,
		labelWidth,
		y+2,
		at(c.Over.Mid)-labelWidth,
		barHeight,
		color,
	)
	fmt.Fprintf(b, `<path d="M%.1f %dH%.1f" stroke="#d08a2e" stroke-width="2"/>`, at(c.Over.Low), middle, at(c.Over.High))
	fmt.Fprintf(b, `<text x="%.1f" y="%d">%.1f</text>`+"\n", at(max(c.Over.High, c.Over.Mid))+6, text, c.Over.Mid)
}
