// Echo and stamp servers with gorilla/websocket.
package main

import (
	"net"
	"net/http"
	"time"

	"feedbench/targets/go/support"
	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{
	CheckOrigin:       func(*http.Request) bool { return true },
	EnableCompression: support.Deflate,
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
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

func stamp(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
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

func main() {
	http.HandleFunc("/echo", echo)
	http.HandleFunc("/stamp", stamp)
	support.Serve(func(listener net.Listener) error { return http.Serve(listener, nil) })
}
