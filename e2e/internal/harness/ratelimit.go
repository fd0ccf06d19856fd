package harness

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/load"
)

// rateConnections is how many connections SendAtRate spreads its requests over: enough that a slow answer on one of
// them does not make the requests of the others late.
const rateConnections = 32

// SendAtRate sends count requests at a steady rate a second, and returns for each how long after its turn the answer
// was there: time that it spent waiting for an earlier answer counts. request and check are as in SendLoad.
func (e *Envoy) SendAtRate(
	t testing.TB, rate float64, count int, request func(i int, buf []byte) []byte, check func(i int, head Head),
) Latencies {
	t.Helper()
	latencies, begin := make(Latencies, count), time.Now()
	errs := make([]error, rateConnections)
	var group sync.WaitGroup
	for first := range rateConnections {
		group.Go(func() {
			connection, err := net.Dial("tcp", Loopback(e.Port))
			if err != nil {
				errs[first] = err
				return
			}
			defer func() { _ = connection.Close() }()
			reader := bufio.NewReaderSize(connection, load.BufferSize)
			for i := first; i < count && errs[first] == nil; i += rateConnections {
				due := begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				time.Sleep(time.Until(due))
				errs[first] = exchange(connection, reader, request(i, nil), func(head Head) { check(i, head) })
				latencies[i] = time.Since(due)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return latencies
}

// exchange sends a request and reads its answer.
func exchange(connection net.Conn, reader *bufio.Reader, request []byte, check func(Head)) error {
	if err := connection.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	if _, err := connection.Write(request); err != nil {
		return err
	}
	head, err := load.ReadAnswer(reader, nil)
	if err != nil {
		return err
	}
	check(head)
	return nil
}

// Latencies are those of requests in their order.
type Latencies []time.Duration

// Percentile is the latency that p percent of the requests did not exceed.
func (l Latencies) Percentile(p int) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// String gives the median and the 99th percentile.
func (l Latencies) String() string {
	return fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", l.Percentile(50).Seconds()*1000, l.Percentile(99).Seconds()*1000)
}
