// Feed client with coder/websocket.
package main

import (
	"context"
	"errors"
	"net/http"

	"feedbench/targets/go/support/feed"
	"github.com/coder/websocket"
)

// told says by which close frame the connection ended, if by one.
func told(err error) error {
	var closed websocket.CloseError
	if errors.As(err, &closed) {
		return feed.Closed{Code: int(closed.Code), Reason: closed.Reason}
	}
	return err
}

func dialOptions(f *feed.Feed) *websocket.DialOptions {
	options := &websocket.DialOptions{}
	if f.TLS != nil {
		options.HTTPClient = &http.Client{Transport: &http.Transport{TLSClientConfig: f.TLS}}
	}
	if f.Deflate != nil && *f.Deflate {
		options.CompressionMode = websocket.CompressionContextTakeover
	}
	return options
}

func main() {
	f := feed.Open("go/coder", feed.Abilities{Deflate: true, StampBefore: true})
	ctx := context.Background()
	conn, _, err := websocket.Dial(ctx, f.URL, dialOptions(f))
	if err != nil {
		f.CannotConnect(err)
	}
	conn.SetReadLimit(-1) // the default of 32 KiB is below what a feed's snapshot takes
	receive := func() (feed.Message, error) {
		messageType, payload, err := conn.Read(ctx)
		if err != nil {
			return feed.Message{}, told(err)
		}
		return feed.Message{Payload: payload, IsBinary: messageType == websocket.MessageBinary}, nil
	}
	send := func(message string) error {
		return conn.Write(ctx, websocket.MessageText, []byte(message))
	}
	closing := func() { conn.Close(websocket.StatusNormalClosure, "") }
	f.Receive(receive, send, closing)
}
