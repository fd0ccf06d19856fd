package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// streams is how many requests SendHTTP2 has under way, all on one connection.
const streams = 32

// SendHTTP2 sends count GET requests as Send does, over one HTTP/2 connection without TLS. header gives the headers
// of request number i and is called from several goroutines at once. Every answer must be 200.
func SendHTTP2(address, path string, count int, header func(i int) http.Header) error {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, streams)
	for stream := range streams {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && errs[stream] == nil; i = int(next.Add(1)) - 1 {
				errs[stream] = getHTTP2(ctx, transport, "http://"+address+path, header(i))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func getHTTP2(ctx context.Context, transport *http.Transport, url string, header http.Header) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header = header
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		return fmt.Errorf("%s %s", response.Proto, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
