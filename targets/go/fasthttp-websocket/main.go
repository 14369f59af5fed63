// Echo and stamp servers with fasthttp/websocket.
package main

import (
	"net"
	"time"

	"feedbench/targets/go/support"
	"github.com/fasthttp/websocket"
	"github.com/valyala/fasthttp"
)

var upgrader = websocket.FastHTTPUpgrader{
	CheckOrigin:       func(*fasthttp.RequestCtx) bool { return true },
	EnableCompression: support.Deflate,
}

func echo(conn *websocket.Conn) {
	defer conn.Close()
	for {
		messageType, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if err := conn.WriteMessage(messageType, message); err != nil {
			return
		}
	}
}

func stamp(conn *websocket.Conn) {
	defer conn.Close()
	answer := support.StampGreeting()
	for {
		if err := conn.WriteMessage(websocket.TextMessage, answer); err != nil {
			return
		}
		_, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if answer, err = support.StampAnswer(message); err != nil {
			closing := websocket.FormatCloseMessage(websocket.CloseUnsupportedData, "")
			conn.WriteControl(websocket.CloseMessage, closing, time.Now().Add(time.Second))
			return
		}
	}
}

func route(request *fasthttp.RequestCtx) {
	switch string(request.Path()) { // Upgrade answers a wrong handshake itself
	case "/echo":
		upgrader.Upgrade(request, echo)
	case "/stamp":
		upgrader.Upgrade(request, stamp)
	default:
		request.NotFound()
	}
}

func main() {
	support.Serve(func(listener net.Listener) error { return fasthttp.Serve(listener, route) })
}
