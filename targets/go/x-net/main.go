// Echo and stamp servers with golang.org/x/net/websocket.
package main

import (
	"net"
	"net/http"

	"feedbench/targets/go/support"
	"golang.org/x/net/websocket"
)

type message struct {
	payload     []byte
	payloadType byte
}

// codec passes a message with its type; the package's own codecs each know one type only.
var codec = websocket.Codec{
	Marshal: func(v any) ([]byte, byte, error) {
		m := v.(message)
		return m.payload, m.payloadType, nil
	},
	Unmarshal: func(payload []byte, payloadType byte, v any) error {
		*v.(*message) = message{payload, payloadType}
		return nil
	},
}

func echo(conn *websocket.Conn) {
	for {
		var received message
		if err := codec.Receive(conn, &received); err != nil {
			return
		}
		support.BeforeAnswer(received.payload)
		if err := codec.Send(conn, received); err != nil {
			return
		}
	}
}

func stamp(conn *websocket.Conn) {
	answer := support.StampGreeting()
	for {
		if err := codec.Send(conn, message{answer, websocket.TextFrame}); err != nil {
			return
		}
		var received message
		if err := codec.Receive(conn, &received); err != nil {
			return
		}
		support.BeforeAnswer(received.payload)
		var err error
		if answer, err = support.StampAnswer(received.payload); err != nil {
			return
		}
	}
}

func main() {
	// A Server without Handshake accepts any Origin; the bare Handler would refuse clients that send none.
	http.Handle("/echo", websocket.Server{Handler: echo})
	http.Handle("/stamp", websocket.Server{Handler: stamp})
	support.Serve(func(listener net.Listener) error { return http.Serve(listener, nil) })
}
