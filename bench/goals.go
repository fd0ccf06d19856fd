package main

import (
	"strings"

	"github.com/limpet-proxy/limpet/bench/internal/report"
	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/bench/internal/stats"
)

// over is what a cell costs more than the same requests without a filter.
func (r measurements) over(contestant, traffic string) stats.Estimate {
	c := cell{contestant, traffic}
	return stats.Over(r[c], r[c.base()])
}

// whole is what a request of limpet's takes in all.
func (r measurements) whole(traffic string) stats.Estimate {
	return stats.Value(r[cell{rig.Limpet, traffic}])
}

// goals compares limpet with its peers. It needs the measurements of all rows.
func (r measurements) goals() []report.Goal {
	pinned, native := r.over(rig.Limpet, "pinned"), r.over(rig.Native, "pinned")
	ratio := func(a, b stats.Estimate) stats.Interval { return stats.Bootstrap(r.rounds(), stats.Ratio(a, b)) }
	difference := func(a, b cell) stats.Interval { return stats.Bootstrap(r.rounds(), stats.Over(r[a], r[b])) }
	return []report.Goal{
		{Title: "pinned over no filter, limpet / Rust peer", Bound: 0.6, Value: ratio(pinned, r.over(rig.Rust, "pinned"))},
		{
			Title: "pinned over no filter, limpet / empty TinyGo filter",
			Bound: 1.4,
			Value: ratio(pinned, r.over(rig.TinyGo, "pinned")),
		},
		{
			Title: "pinned with every token new to the cache over no filter, limpet / Rust peer", None: true,
			Value: ratio(r.over(rig.Limpet, "pinned-many"), r.over(rig.Rust, "pinned")),
		},
		{
			Title: "new session over no filter, limpet / Rust peer",
			Bound: 1,
			Value: ratio(r.over(rig.Limpet, "new"), r.over(rig.Rust, "new")),
		},
		{Title: "whole request, forged / pinned", Bound: 1.5, Value: ratio(r.whole("forged"), r.whole("pinned"))},
		{Title: "over no filter, forged / pinned", None: true, Value: ratio(r.over(rig.Limpet, "forged"), pinned)},
		{
			Title: "whole request, 55 kB of forged cookies / 55 kB of others", None: true,
			Value: ratio(r.whole("flood-forged"), r.whole("flood-others")),
		},
		{
			Title: "pinned over no filter, native limpet / Envoy's unsigned cookie", Bound: 1.5,
			Value: ratio(native, r.over(rig.Unsigned, "pinned-plain")),
		},
		{Title: "pinned over no filter, native limpet / limpet", Bound: 0.3, Value: ratio(native, pinned)},
		{
			Title: "pinned over no filter, native limpet / native Rust peer",
			Bound: 1.1,
			Value: ratio(native, r.over(rig.NativeRust, "pinned")),
		},
		{
			Title: "new session over no filter, native limpet / native Rust peer", Bound: 1.1,
			Value: ratio(r.over(rig.Native, "new"), r.over(rig.NativeRust, "new")),
		},
		{
			Title: "route without a policy, over no filter", Unit: " µs", Bound: 1,
			Value: difference(cell{rig.Limpet, "without-route"}, cell{rig.None, "without-route"}),
		},
		{
			Title: "10,000 policies, over one", Unit: " µs", Same: true,
			Value: difference(cell{rig.LimpetMany, "pinned"}, cell{rig.Limpet, "pinned"}),
		},
	}
}

// rounds is how often each cell was measured.
func (r measurements) rounds() int {
	for _, all := range r {
		return len(all)
	}
	return 0
}

// costs returns the measured rows with their intervals.
func (r measurements) costs(rows []row) []report.Cost {
	var costs []report.Cost
	for _, line := range rows {
		if len(r[line.cell]) == 0 {
			continue
		}
		cost := report.Cost{
			Title: line.title,
			Base:  line.contestant == rig.None,
			Aside: strings.HasPrefix(line.traffic, "flood"),
		}
		cost.Whole = stats.Bootstrap(r.rounds(), stats.Value(r[line.cell]))
		if base := r[line.base()]; len(base) > 0 {
			cost.Over = stats.Bootstrap(r.rounds(), stats.Over(r[line.cell], base))
		}
		costs = append(costs, cost)
	}
	return costs
}
