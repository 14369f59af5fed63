// Echo and stamp servers with coder/websocket.
package main

import (
	"context"
	"net"
	"net/http"

	"feedbench/targets/go/support"
	"github.com/coder/websocket"
)

var options = websocket.AcceptOptions{InsecureSkipVerify: true} // the Origin may be another host

func accept(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	conn, err := websocket.Accept(w, r, &options)
	if err == nil {
		conn.SetReadLimit(-1) // the default of 32 KiB is below what a feed's snapshot takes
	}
	return conn, err
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := accept(w, r)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	for {
		messageType, message, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if err := conn.Write(context.Background(), messageType, message); err != nil {
			return
		}
	}
}

func stamp(w http.ResponseWriter, r *http.Request) {
	conn, err := accept(w, r)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	answer := support.StampGreeting()
	for {
		if err := conn.Write(context.Background(), websocket.MessageText, answer); err != nil {
			return
		}
		_, message, err := conn.Read(context.Background())
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if answer, err = support.StampAnswer(message); err != nil {
			conn.Close(websocket.StatusUnsupportedData, "")
			return
		}
	}
}

func main() {
	if support.Deflate {
		options.CompressionMode = websocket.CompressionNoContextTakeover
	}
	http.HandleFunc("/echo", echo)
	http.HandleFunc("/stamp", stamp)
	support.Serve(func(listener net.Listener) error { return http.Serve(listener, nil) })
}
