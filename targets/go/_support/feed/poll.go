package feed

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const usualInterval = 20 * time.Millisecond

// Answer is what a question brought.
type Answer struct {
	Status     int
	RetryAfter string // the header; empty without one
	Body       []byte
}

// Poll asks one exchange for one resource, again and again (spec/feed.md, Pollers).
type Poll struct {
	URL   string
	HTTP2 bool
	TLS   *tls.Config // nil: the library's own, which trusts the system's authorities

	output    string
	exitFile  string
	interval  time.Duration
	delay     time.Duration
	parse     bool
	answered  bool
	file      *stamps    // nil where nothing is recorded
	recording sync.Mutex // held while an answer is recorded, and from the last record on
	ending    atomic.Bool
}

// OpenPoll reads the settings and opens the sink; with a wrong setting it ends the program.
func OpenPoll() *Poll {
	if len(os.Args) != 5 {
		fail(wrongUsage, "usage: poller EXCHANGE DOMAIN PORT STREAM")
	}
	domain, port, stream := os.Args[2], os.Args[3], os.Args[4]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		fail(wrongUsage, "the port is %s: say a number up to 65535", port)
	}
	if !strings.HasPrefix(domain, "http://") {
		domain = "https://" + domain
	}
	runtime.GOMAXPROCS(int(number("FEEDBENCH_THREADS", 1)))
	p := &Poll{
		URL:      fmt.Sprintf("%s:%s%s", domain, port, stream),
		HTTP2:    knob("FEEDBENCH_HTTP", "1.1", "2") == "2",
		TLS:      trusting(os.Getenv("FEEDBENCH_CA_FILE")),
		output:   os.Getenv("FEEDBENCH_OUTPUT"),
		exitFile: os.Getenv("FEEDBENCH_EXIT_FILE"),
		interval: pollInterval(),
		delay:    time.Duration(number("FEEDBENCH_DELAY_NS", 0)),
		parse:    knob("FEEDBENCH_PARSE", "off", "on") == "on",
	}
	if knob("FEEDBENCH_SINK", "stamps", "none") == "stamps" {
		p.open()
	}
	go p.endWhenAsked()
	return p
}

// pollInterval may be shorter than what is usual.
func pollInterval() time.Duration {
	const name = "FEEDBENCH_POLL_INTERVAL_NS"
	if _, set := os.LookupEnv(name); !set {
		return usualInterval
	}
	return time.Duration(number(name, 0))
}

func (p *Poll) open() {
	if p.output == "" {
		fail(wrongUsage, "FEEDBENCH_OUTPUT names no file for what is received")
	}
	file, err := openStamps(p.output)
	if err != nil {
		fail(failed, "cannot write %s: %v", p.output, plain(err))
	}
	p.file = file
}

// Follow asks and records until the end of the program.
func (p *Poll) Follow(ask func() (Answer, error)) {
	p.record(now(0), kindConnected, nil)
	var payload []byte // the last one's memory, used again
	for {
		sentNs := nanotime()
		answer, err := ask()
		at := now(p.delay)
		if err != nil {
			p.lost(err)
		}
		p.answered = true
		payload = binary.LittleEndian.AppendUint64(payload[:0], uint64(sentNs))
		payload = binary.LittleEndian.AppendUint32(payload, uint32(answer.Status)) // two bytes, and two of zero
		payload = append(payload, answer.Body...)
		p.record(at, kindAnswer, payload)
		if p.parse {
			var decoded any
			_ = json.Unmarshal(answer.Body, &decoded) // an exchange's mistake, recorded as it came
		}
		time.Sleep(p.pause(sentNs, answer))
	}
}

func (p *Poll) pause(sentNs int64, answer Answer) time.Duration {
	if seconds, err := strconv.Atoi(answer.RetryAfter); err == nil && answer.Status != 200 {
		return time.Duration(seconds) * time.Second
	}
	return p.interval - time.Duration(nanotime()-sentNs)
}

func (p *Poll) record(at Stamp, kind uint32, payload []byte) {
	p.recording.Lock()
	defer p.recording.Unlock()
	p.written(at, kind, payload)
}

func (p *Poll) written(at Stamp, kind uint32, payload []byte) {
	if p.file == nil {
		return
	}
	if err := p.file.write(at, kind, payload); err != nil {
		fail(failed, "cannot write %s: %v", p.output, plain(err))
	}
}

func (p *Poll) lost(err error) {
	if p.ending.Load() {
		select {} // endWhenAsked ends it
	}
	reason := "lost: " + err.Error()
	if !p.answered {
		reason = fmt.Sprintf("cannot connect to %s: %v", p.URL, err)
	}
	p.finish(failed, reason)
}

func (p *Poll) endWhenAsked() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, os.Interrupt)
	for !p.ending.Load() {
		select {
		case <-asked:
			p.ending.Store(true)
		case <-time.After(exitFileEvery):
			p.ending.Store(exists(p.exitFile))
		}
	}
	p.finish(0, "")
}

// finish keeps the lock, so that nothing is recorded after the end.
func (p *Poll) finish(status int, reason string) {
	p.recording.Lock()
	p.written(now(0), kindEnd, []byte(reason))
	if reason != "" {
		fail(status, "%s", reason)
	}
	os.Exit(status)
}
