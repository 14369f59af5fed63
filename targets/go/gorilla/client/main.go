// Feed client with gorilla/websocket.
package main

import (
	"errors"
	"time"

	"feedbench/targets/go/support/feed"
	"github.com/gorilla/websocket"
)

// told says by which close frame the connection ended, if by one.
func told(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return feed.Closed{Code: closed.Code, Reason: closed.Text}
	}
	return err
}

func main() {
	f := feed.Open("go/gorilla", feed.Abilities{Deflate: true, StampBefore: true})
	dialer := *websocket.DefaultDialer
	dialer.TLSClientConfig = f.TLS
	if f.Deflate != nil {
		dialer.EnableCompression = *f.Deflate
	}
	conn, _, err := dialer.Dial(f.URL, nil)
	if err != nil {
		f.CannotConnect(err)
	}
	receive := func() (feed.Message, error) {
		messageType, payload, err := conn.ReadMessage()
		if err != nil {
			return feed.Message{}, told(err)
		}
		return feed.Message{Payload: payload, IsBinary: messageType == websocket.BinaryMessage}, nil
	}
	send := func(message string) error {
		return conn.WriteMessage(websocket.TextMessage, []byte(message))
	}
	closing := func() {
		message := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	}
	f.Receive(receive, send, closing)
}
