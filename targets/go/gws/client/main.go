// Feed client with lxzan/gws.
package main

import (
	"errors"

	"feedbench/targets/go/support/feed"
	"github.com/lxzan/gws"
)

type handler struct {
	gws.BuiltinEventHandler
	feed *feed.Feed
}

func (h handler) OnPing(socket *gws.Conn, payload []byte) {
	socket.WritePong(payload)
}

func (h handler) OnMessage(_ *gws.Conn, message *gws.Message) {
	at := h.feed.Now()
	defer message.Close()
	h.feed.Record(at, feed.Message{Payload: message.Bytes(), IsBinary: message.Opcode == gws.OpcodeBinary})
}

func (h handler) OnOpen(socket *gws.Conn) {
	h.feed.Connected(func() { socket.WriteClose(1000, nil) })
	for _, subscription := range h.feed.Subscriptions {
		if err := socket.WriteString(subscription); err != nil {
			h.feed.End(err)
		}
	}
}

func (h handler) OnClose(_ *gws.Conn, err error) {
	var closed *gws.CloseError
	if errors.As(err, &closed) {
		err = feed.Closed{Code: int(closed.Code), Reason: string(closed.Reason)}
	}
	h.feed.End(err)
}

func main() {
	f := feed.Open("go/gws", feed.Abilities{Deflate: true})
	options := &gws.ClientOption{Addr: f.URL, TlsConfig: f.TLS}
	if f.Deflate != nil {
		options.PermessageDeflate.Enabled = *f.Deflate
	}
	socket, _, err := gws.NewClient(handler{feed: f}, options)
	if err != nil {
		f.CannotConnect(err)
	}
	socket.ReadLoop()
}
