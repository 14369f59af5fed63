// Package feed is what the Go feed clients share: command line, environment, record and ends (spec/feed.md).
// What a client measures, its library's handshake and reading, stands in the client.
package feed

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	failed        = 1
	wrongUsage    = 2
	unsupported   = 127
	exitFileEvery = 250 * time.Millisecond
	closingAtMost = time.Second // a peer that does not answer the close frame is left after that
)

// Abilities are what a library has beside the rest.
type Abilities struct {
	Deflate     bool
	StampBefore bool // there is a receive call, before which the clock can be read
}

// Closed is the error of a client's read after a close frame of the exchange's.
type Closed struct {
	Code   int
	Reason string
}

func (c Closed) Error() string {
	if c.Reason == "" {
		return fmt.Sprint(c.Code)
	}
	return fmt.Sprintf("%d %s", c.Code, c.Reason)
}

// Message is what a library hands over; Payload is only read until the next one is asked for.
type Message struct {
	Payload  []byte
	IsBinary bool
}

// Feed is one connection to one exchange, from the command line to the exit status.
type Feed struct {
	URL           string
	Subscriptions []string    // to send when the connection is open
	Deflate       *bool       // nil: the library's default
	TLS           *tls.Config // nil: the library's own, which trusts the system's authorities

	settings  settings
	sink      sink
	recording sync.Mutex // held while a message is recorded, and from the last record on
	ending    atomic.Bool
	close     chan func()
}

// Open reads the settings and opens the sink; with a wrong setting it ends the program.
func Open(target string, can Abilities) *Feed {
	settings := readSettings(target, can)
	runtime.GOMAXPROCS(settings.threads) // so many threads run Go code at a time, the collector's work included
	f := &Feed{
		URL:           settings.url,
		Subscriptions: settings.subscriptions(),
		Deflate:       settings.deflate,
		TLS:           settings.tls,
		settings:      settings,
		sink:          openSink(settings),
		close:         make(chan func(), 1),
	}
	go f.endWhenAsked()
	return f
}

// CannotConnect ends the program.
func (f *Feed) CannotConnect(err error) {
	if f.ending.Load() {
		select {} // endWhenAsked ends it
	}
	fail(failed, "cannot connect to %s: %v", f.URL, err)
}

// Receive notes that the connection is open, sends the subscriptions and records what comes until the end of the
// program. `closing` starts the closing handshake, from another goroutine; `receive` returns what the library hands
// over, or Closed, or why the connection was lost.
func (f *Feed) Receive(receive func() (Message, error), send func(string) error, closing func()) {
	f.Connected(closing)
	for _, subscription := range f.Subscriptions {
		if err := send(subscription); err != nil {
			f.End(err)
		}
	}
	for {
		before := f.settings.stampBefore()
		message, err := receive()
		at := f.Now()
		if err != nil {
			f.End(err)
		}
		if before != nil {
			at = *before
		}
		f.Record(at, message)
	}
}

// Connected records that the handshake is done.
func (f *Feed) Connected(closing func()) {
	f.recording.Lock()
	f.written(f.sink.connected(now(0)))
	f.recording.Unlock()
	f.close <- closing
}

// Now is the stamp of a message; for clients whose library calls them, the first thing that they do.
func (f *Feed) Now() Stamp {
	return now(f.settings.delay)
}

// Record takes a message that was handed over at a time.
func (f *Feed) Record(at Stamp, message Message) {
	f.recording.Lock()
	defer f.recording.Unlock()
	f.written(f.sink.message(at, message))
	f.settings.afterRecord(message)
}

// End ends the program, with what the library says about the connection's end.
func (f *Feed) End(err error) {
	var closed Closed
	switch {
	case f.ending.Load():
		f.finish(0, "")
	case errors.As(err, &closed):
		f.finish(failed, "closed: "+closed.Error())
	default:
		f.finish(failed, "lost: "+err.Error())
	}
}

func (f *Feed) endWhenAsked() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	for !f.ending.Load() {
		select {
		case <-asked:
			f.ending.Store(true)
		case <-time.After(exitFileEvery):
			f.ending.Store(exists(f.settings.exitFile))
		}
	}
	select {
	case closing := <-f.close:
		go closing() // it may wait for the answer
		time.Sleep(closingAtMost)
	default: // not connected yet, so there is nothing to record
		os.Exit(0)
	}
	f.finish(0, "")
}

// finish keeps the lock, so that nothing is recorded after the end.
func (f *Feed) finish(status int, reason string) {
	f.recording.Lock()
	f.written(f.sink.end(now(0), reason))
	if reason != "" {
		fail(status, "%s", reason)
	}
	os.Exit(status)
}

func (f *Feed) written(err error) {
	if err != nil {
		fail(failed, "cannot write %s: %v", f.settings.output, plain(err))
	}
}

// plain leaves out the path that the caller has named already.
func plain(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

func fail(status int, format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(status)
}
