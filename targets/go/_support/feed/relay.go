package feed

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	firstWait   = 100 * time.Millisecond // before connecting again, doubled up to the longest
	longestWait = 2 * time.Second
)

// Relay is what the Go relays share: command line, environment, the record of what enters, back-off and ends.
type Relay struct {
	URL           string
	Subscriptions []string    // to send when a connection upstream is open
	Deflate       *bool       // nil: the library's default
	TLS           *tls.Config // nil: the library's own, which trusts the system's authorities
	Listener      net.Listener
	Each          bool // each client has a connection upstream of its own

	sink      sink
	output    string
	delay     time.Duration // the control's
	recording sync.Mutex    // held while something is recorded, and from the last record on
}

// OpenRelay reads the settings, opens the sink and listens; with a wrong setting it ends the program.
func OpenRelay() *Relay {
	if len(os.Args) != 7 {
		fail(wrongUsage, "usage: relay EXCHANGE DOMAIN PORT STREAM LISTEN_HOST LISTEN_PORT")
	}
	domain, port, stream, host, listenPort := os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]
	for _, each := range []string{port, listenPort} {
		if _, err := strconv.ParseUint(each, 10, 16); err != nil {
			fail(wrongUsage, "the port is %s: say a number up to 65535", each)
		}
	}
	if !strings.HasPrefix(domain, "ws://") {
		domain = "wss://" + domain
	}
	s := settings{
		subscribe: os.Getenv("FEEDBENCH_SUBSCRIBE"),
		sink:      knob("FEEDBENCH_SINK", "none", "stamps"),
		output:    os.Getenv("FEEDBENCH_OUTPUT"),
	}
	if s.output == "" && s.sink != "none" {
		fail(wrongUsage, "FEEDBENCH_OUTPUT names no file for what is received")
	}
	runtime.GOMAXPROCS(int(number("FEEDBENCH_THREADS", 1)))
	r := &Relay{
		URL:           fmt.Sprintf("%s:%s%s", domain, port, stream),
		Subscriptions: s.subscriptions(),
		Deflate:       deflate(true),
		TLS:           trusting(os.Getenv("FEEDBENCH_CA_FILE")),
		Each:          knob("FEEDBENCH_UPSTREAM", "shared", "each") == "each",
		sink:          openSink(s),
		output:        s.output,
		delay:         time.Duration(number("FEEDBENCH_DELAY_NS", 0)),
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, listenPort))
	if err != nil {
		fail(failed, "cannot listen: %v", err)
	}
	r.Listener = listener
	return r
}

// StayConnected follows upstream again and again until the context is done. `follow` makes one connection, calls
// `connected` once it is open, and returns why it ended: Closed, or what was wrong.
func (r *Relay) StayConnected(ctx context.Context, follow func(ctx context.Context, connected func()) error) {
	wait := firstWait
	for {
		err := follow(ctx, func() {
			wait = firstWait
			r.record(func() error { return r.sink.connected(now(0)) })
		})
		if ctx.Err() != nil {
			return
		}
		reason := "lost: " + err.Error()
		var closed Closed
		if errors.As(err, &closed) {
			reason = "closed: " + closed.Error()
		}
		fmt.Fprintf(os.Stderr, "%s; again in %v\n", reason, wait)
		r.record(func() error { return r.sink.end(now(0), reason) })
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			wait = min(2*wait, longestWait)
		}
	}
}

// Entered records a message that was handed over at a time; its payload is not kept.
func (r *Relay) Entered(at Stamp, message Message) {
	r.record(func() error { return r.sink.message(at, message) })
}

// Now is the stamp of a message: the first thing to do with it. The control's is late by a known time.
func (r *Relay) Now() Stamp {
	return now(r.delay)
}

// EndWhenAsked waits for SIGTERM or SIGINT, lets `closing` say goodbye to the clients, and ends the program.
func (r *Relay) EndWhenAsked(closing func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	<-asked
	said := make(chan struct{})
	go func() {
		closing()
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(closingAtMost):
	}
	r.recording.Lock() // for good: nothing is recorded after the end
	if err := r.sink.end(now(0), ""); err != nil {
		fail(failed, "cannot write %s: %v", r.output, plain(err))
	}
	os.Exit(0)
}

func (r *Relay) record(step func() error) {
	r.recording.Lock()
	defer r.recording.Unlock()
	if err := step(); err != nil {
		fail(failed, "cannot write %s: %v", r.output, plain(err))
	}
}
