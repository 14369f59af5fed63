// Relay with gorilla/websocket, on both sides.
package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"feedbench/targets/go/support/feed"
	"github.com/gorilla/websocket"
)

// gorilla/websocket waits where a client does not read, so each has a goroutine of its own; one that is this many
// messages behind is let go, as in the library's chat example.
const mostWaiting = 1000

// client is a connection to /feed, and what waits to be sent over it.
type client struct {
	conn    *websocket.Conn
	waiting chan *websocket.PreparedMessage
}

func (c *client) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-c.waiting:
			if c.conn.WritePreparedMessage(message) != nil {
				c.conn.Close() // the reading goroutine ends with it
				return
			}
		}
	}
}

func (c *client) send(message *websocket.PreparedMessage) {
	select {
	case c.waiting <- message:
	default:
		c.conn.Close()
	}
}

func (c *client) goAway() {
	message := websocket.FormatCloseMessage(websocket.CloseGoingAway, "")
	c.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	c.conn.Close()
}

// hub knows who is connected.
type hub struct {
	mutex   sync.Mutex
	clients map[*client]struct{}
}

func (h *hub) join(c *client) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.clients[c] = struct{}{}
}

func (h *hub) leave(c *client) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.clients, c)
}

func (h *hub) each(do func(*client)) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for c := range h.clients {
		do(c)
	}
}

// told says by which close frame the connection ended, if by one.
func told(err error) error {
	var closed *websocket.CloseError
	if errors.As(err, &closed) && closed.Code != websocket.CloseAbnormalClosure {
		return feed.Closed{Code: closed.Code, Reason: closed.Text}
	}
	return err
}

// follow makes one connection upstream and hands each message to `send`, until it ends or the context is done.
func follow(r *feed.Relay, send func(*websocket.PreparedMessage)) func(context.Context, func()) error {
	dialer := *websocket.DefaultDialer
	dialer.TLSClientConfig = r.TLS
	if r.Deflate != nil {
		dialer.EnableCompression = *r.Deflate
	}
	return func(ctx context.Context, connected func()) error {
		conn, _, err := dialer.DialContext(ctx, r.URL, nil)
		if err != nil {
			return err
		}
		defer conn.Close()
		defer context.AfterFunc(ctx, func() { conn.Close() })()
		for _, subscription := range r.Subscriptions {
			if err := conn.WriteMessage(websocket.TextMessage, []byte(subscription)); err != nil {
				return err
			}
		}
		connected()
		for {
			messageType, payload, err := conn.ReadMessage()
			at := r.Now()
			if err != nil {
				return told(err)
			}
			message, err := websocket.NewPreparedMessage(messageType, payload)
			if err != nil {
				return err
			}
			send(message)
			r.Entered(at, feed.Message{Payload: payload, IsBinary: messageType == websocket.BinaryMessage})
		}
	}
}

func main() {
	r := feed.OpenRelay()
	h := &hub{clients: map[*client]struct{}{}}
	if !r.Each {
		toAll := func(message *websocket.PreparedMessage) { h.each(func(c *client) { c.send(message) }) }
		go r.StayConnected(context.Background(), follow(r, toAll))
	}
	upgrader := websocket.Upgrader{
		CheckOrigin:       func(*http.Request) bool { return true },
		EnableCompression: r.Deflate != nil && *r.Deflate,
	}
	http.HandleFunc("/feed", func(w http.ResponseWriter, request *http.Request) {
		conn, err := upgrader.Upgrade(w, request, nil)
		if err != nil {
			return // Upgrade has answered
		}
		c := &client{conn, make(chan *websocket.PreparedMessage, mostWaiting)}
		ctx, gone := context.WithCancel(context.Background())
		defer conn.Close()
		defer gone()
		h.join(c)
		defer h.leave(c)
		go c.write(ctx)
		if r.Each {
			go r.StayConnected(ctx, follow(r, c.send))
		}
		for err == nil { // clients have nothing to say; this answers their pings and closes
			_, _, err = conn.ReadMessage()
		}
	})
	go http.Serve(r.Listener, nil)
	r.EndWhenAsked(func() { h.each((*client).goAway) })
}
