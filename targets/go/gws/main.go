// Echo and stamp servers with lxzan/gws.
package main

import (
	"net"
	"net/http"

	"feedbench/targets/go/support"
	"github.com/lxzan/gws"
)

type pongs struct {
	gws.BuiltinEventHandler
}

func (pongs) OnPing(socket *gws.Conn, payload []byte) {
	socket.WritePong(payload)
}

type echo struct{ pongs }

func (echo) OnMessage(socket *gws.Conn, message *gws.Message) {
	defer message.Close()
	support.BeforeAnswer(message.Bytes())
	socket.WriteMessage(message.Opcode, message.Bytes())
}

type stamp struct{ pongs }

func (stamp) OnOpen(socket *gws.Conn) {
	socket.WriteMessage(gws.OpcodeText, support.StampGreeting())
}

func (stamp) OnMessage(socket *gws.Conn, message *gws.Message) {
	defer message.Close()
	support.BeforeAnswer(message.Bytes())
	answer, err := support.StampAnswer(message.Bytes())
	if err != nil {
		socket.WriteClose(1003, nil) // unsupported data
		return
	}
	socket.WriteMessage(gws.OpcodeText, answer)
}

func upgrading(events gws.Event) http.HandlerFunc {
	upgrader := gws.NewUpgrader(events, &gws.ServerOption{
		PermessageDeflate: gws.PermessageDeflate{Enabled: support.Deflate},
	})
	return func(w http.ResponseWriter, r *http.Request) {
		socket, err := upgrader.Upgrade(w, r)
		if err != nil {
			return // Upgrade has answered
		}
		go socket.ReadLoop() // apart, so that net/http's objects of the request can be collected
	}
}

func main() {
	http.HandleFunc("/echo", upgrading(echo{}))
	http.HandleFunc("/stamp", upgrading(stamp{}))
	support.Serve(func(listener net.Listener) error { return http.Serve(listener, nil) })
}
