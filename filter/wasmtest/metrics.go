package wasmtest

// kind is the sort of a metric, numbered as in proxy-wasm ABI 0.2. The low two bits of a metric's id hold it.
type kind uint32

const (
	counter kind = iota
	gauge
	histogram
	kinds
)

// metrics is the store of one VM. A second definition of a name gives a new id for the same metric, as in Envoy.
type metrics struct {
	named [kinds]map[string]*uint64
	byID  [kinds][]*uint64
}

// define returns the id of a metric. Ids start behind zero, so that an id a guest forgot to set is never a metric.
func (m *metrics) define(k kind, name string) uint32 {
	if m.named[k] == nil {
		m.named[k] = map[string]*uint64{}
	}
	value := m.named[k][name]
	if value == nil {
		value = new(uint64)
		m.named[k][name] = value
	}
	m.byID[k] = append(m.byID[k], value)
	return uint32(len(m.byID[k]))<<2 | uint32(k)
}

// findMetric returns the metric with this id and its kind, or nil.
func (m *metrics) findMetric(id uint32) (*uint64, kind) {
	k, at := kind(id&3), int(id>>2)-1
	if k >= kinds || at < 0 || at >= len(m.byID[k]) {
		return nil, k
	}
	return m.byID[k][at], k
}

// increment adds to a counter or a gauge. Only a gauge goes down.
func (m *metrics) increment(id uint32, by int64) status {
	value, k := m.findMetric(id)
	switch {
	case k > gauge:
		return statusBadArgument
	case value == nil:
		return statusNotFound
	case k == counter && by <= 0:
		return statusBadArgument
	}
	*value += uint64(by)
	return statusOK
}

// record sets a gauge, adds to a counter, and is a histogram's one operation; its samples are not kept.
func (m *metrics) record(id uint32, to uint64) status {
	value, k := m.findMetric(id)
	if value == nil {
		return statusNotFound
	}
	switch k {
	case counter:
		*value += to
	case gauge:
		*value = to
	}
	return statusOK
}

// get reads a counter or a gauge.
func (m *metrics) get(id uint32) (uint64, status) {
	value, k := m.findMetric(id)
	switch {
	case k > gauge:
		return 0, statusBadArgument
	case value == nil:
		return 0, statusNotFound
	}
	return *value, statusOK
}
