// Poller with net/http.
package main

import (
	"io"
	"net/http"

	"feedbench/targets/go/support/feed"
)

func main() {
	poll := feed.OpenPoll()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.TLSClientConfig = poll.TLS
	transport.Protocols = new(http.Protocols)
	if poll.HTTP2 {
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.Protocols.SetHTTP1(true)
	}
	client := &http.Client{Transport: transport}
	poll.Follow(func() (feed.Answer, error) {
		response, err := client.Get(poll.URL)
		if err != nil {
			return feed.Answer{}, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return feed.Answer{}, err
		}
		retryAfter := response.Header.Get("Retry-After")
		return feed.Answer{Status: response.StatusCode, RetryAfter: retryAfter, Body: body}, nil
	})
}
