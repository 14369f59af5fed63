// Echo and stamp servers with gobwas/ws and its wsutil helpers.
package main

import (
	"net"
	"net/http"

	"feedbench/targets/go/support"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

func upgrading(serve func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, _, _, err := ws.UpgradeHTTP(r, w)
		if err != nil {
			return // UpgradeHTTP has answered
		}
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	}
}

func echo(conn net.Conn) {
	for {
		message, opCode, err := wsutil.ReadClientData(conn)
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if err := wsutil.WriteServerMessage(conn, opCode, message); err != nil {
			return
		}
	}
}

func stamp(conn net.Conn) {
	answer := support.StampGreeting()
	for {
		if err := wsutil.WriteServerText(conn, answer); err != nil {
			return
		}
		message, _, err := wsutil.ReadClientData(conn)
		if err != nil {
			return
		}
		support.BeforeAnswer(message)
		if answer, err = support.StampAnswer(message); err != nil {
			ws.WriteFrame(conn, ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusUnsupportedData, "")))
			return
		}
	}
}

func main() {
	http.HandleFunc("/echo", upgrading(echo))
	http.HandleFunc("/stamp", upgrading(stamp))
	support.Serve(func(listener net.Listener) error { return http.Serve(listener, nil) })
}
