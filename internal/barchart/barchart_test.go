package barchart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestDraw: the chart is well-formed and has each bar.
func TestDraw(t *testing.T) {
	chart := Draw("a & b", []Bar{{Title: "limpet, <pinned>", Low: 9, Mid: 10, High: 11, Value: "10.0", Ours: true}, {Title: "other", Mid: 3}})
	decoder := xml.NewDecoder(strings.NewReader(chart))
	bars := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 2 || !strings.Contains(chart, "&lt;pinned&gt;") || !strings.Contains(chart, ">10.0<") {
		t.Errorf("%d bars in\n%s", bars, chart)
	}
}
