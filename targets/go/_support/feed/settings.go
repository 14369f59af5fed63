package feed

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what the command line and the environment say.
type settings struct {
	target, exchange, stream string
	url                      string
	subscribe                string
	sink, output             string
	exitFile                 string
	parse, before, log       bool
	delay                    time.Duration
	threads                  int
	deflate                  *bool
	tls                      *tls.Config
}

func readSettings(target string, can Abilities) settings {
	if len(os.Args) != 5 {
		fail(wrongUsage, "usage: client EXCHANGE DOMAIN PORT STREAM")
	}
	exchange, domain, port, stream := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		fail(wrongUsage, "the port is %s: say a number up to 65535", port)
	}
	if !strings.HasPrefix(domain, "ws://") {
		domain = "wss://" + domain
	}
	s := settings{
		target:    target,
		exchange:  exchange,
		stream:    stream,
		url:       fmt.Sprintf("%s:%s%s", domain, port, stream),
		subscribe: os.Getenv("FEEDBENCH_SUBSCRIBE"),
		sink:      knob("FEEDBENCH_SINK", "stamps", "sqlite", "sqlite_behind", "none"),
		output:    os.Getenv("FEEDBENCH_OUTPUT"),
		exitFile:  os.Getenv("FEEDBENCH_EXIT_FILE"),
		parse:     knob("FEEDBENCH_PARSE", "off", "on") == "on",
		before:    able("FEEDBENCH_STAMP", can.StampBefore, "after", "before") == "before",
		log:       knob("FEEDBENCH_LOG_MESSAGES", "false", "true") == "true",
		delay:     time.Duration(number("FEEDBENCH_DELAY_NS", 0)),
		threads:   int(number("FEEDBENCH_THREADS", 1)),
		deflate:   deflate(can.Deflate),
		tls:       trusting(os.Getenv("FEEDBENCH_CA_FILE")),
	}
	if s.output == "" && s.sink != "none" {
		fail(wrongUsage, "FEEDBENCH_OUTPUT names no file for what is received")
	}
	return s
}

// knob returns the variable's value, the first of those allowed when it is unset.
func knob(name string, allowed ...string) string {
	value, set := os.LookupEnv(name)
	if !set {
		return allowed[0]
	}
	if !slices.Contains(allowed, value) {
		fail(unsupported, "%s=%s: this client can't do that", name, value)
	}
	return value
}

// able is like knob; the last value wants an ability.
func able(name string, is bool, allowed ...string) string {
	if !is {
		allowed = allowed[:len(allowed)-1]
	}
	return knob(name, allowed...)
}

func number(name string, usual int64) int64 {
	value, set := os.LookupEnv(name)
	if !set {
		return usual
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil || parsed < usual {
		fail(unsupported, "%s=%s: say a whole number from %d on", name, value, usual)
	}
	return parsed
}

// deflate is nil when the library's default is wanted.
func deflate(is bool) *bool {
	value := able("FEEDBENCH_DEFLATE", is, "default", "off", "on")
	if value == "default" {
		return nil
	}
	on := value == "on"
	return &on
}

// trusting is a TLS configuration with the authorities of a PEM file; nil when none is named.
func trusting(file string) *tls.Config {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		fail(failed, "cannot read FEEDBENCH_CA_FILE %s: %v", file, plain(err))
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		fail(failed, "FEEDBENCH_CA_FILE %s holds no certificate", file)
	}
	return &tls.Config{RootCAs: authorities}
}

func (s *settings) subscriptions() []string {
	if s.subscribe == "" {
		return nil
	}
	return strings.Split(s.subscribe, "\n")
}

// stampBefore is the time before the receive call where that is asked for; nil otherwise.
func (s *settings) stampBefore() *Stamp {
	if !s.before {
		return nil
	}
	at := now(0)
	return &at
}

// afterRecord does what the knobs ask for; a text that is no JSON was recorded like any other.
func (s *settings) afterRecord(message Message) {
	if s.parse && !message.IsBinary {
		var decoded any
		_ = json.Unmarshal(message.Payload, &decoded)
	}
	if s.log {
		fmt.Printf("%s\n", message.Payload)
	}
}

func exists(file string) bool {
	if file == "" {
		return false
	}
	_, err := os.Stat(file)
	return err == nil
}
