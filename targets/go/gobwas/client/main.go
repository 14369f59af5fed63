// Feed client with gobwas/ws and its wsutil helpers.
package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"

	"feedbench/targets/go/support/feed"
	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// told says by which close frame the connection ended, if by one.
func told(err error) error {
	var closed wsutil.ClosedError
	if errors.As(err, &closed) {
		return feed.Closed{Code: int(closed.Code), Reason: closed.Reason}
	}
	return err
}

// connection reads first what came with the handshake's answer.
type connection struct {
	io.Reader
	io.Writer
}

func reading(conn net.Conn, early *bufio.Reader) io.ReadWriter {
	if early == nil {
		return conn
	}
	return connection{io.MultiReader(io.LimitReader(early, int64(early.Buffered())), conn), conn}
}

func main() {
	f := feed.Open("go/gobwas", feed.Abilities{StampBefore: true})
	conn, early, _, err := ws.Dialer{TLSConfig: f.TLS}.Dial(context.Background(), f.URL)
	if err != nil {
		f.CannotConnect(err)
	}
	stream := reading(conn, early)
	receive := func() (feed.Message, error) {
		payload, opCode, err := wsutil.ReadServerData(stream)
		if err != nil {
			return feed.Message{}, told(err)
		}
		return feed.Message{Payload: payload, IsBinary: opCode == ws.OpBinary}, nil
	}
	send := func(message string) error { return wsutil.WriteClientText(conn, []byte(message)) }
	closing := func() {
		frame := ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusNormalClosure, ""))
		ws.WriteFrame(conn, ws.MaskFrameInPlace(frame))
	}
	f.Receive(receive, send, closing)
}
