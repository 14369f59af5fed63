package support

import (
	"crypto/tls"
	"fmt"
	"os"
	"strconv"
	"time"
)

// What the environment asks for; spec/README.md names the variables under "Knobs".
var (
	Deflate     = oneOf("FEEDBENCH_DEFLATE", "off", "on") == "on"
	logMessages = oneOf("FEEDBENCH_LOG_MESSAGES", "false", "true") == "true"
	reusePort   = oneOf("FEEDBENCH_REUSE_PORT", "off", "on") == "on"
	delay       = time.Duration(number("FEEDBENCH_DELAY_NS", 0, 0))
	threads     = int(number("FEEDBENCH_THREADS", 1, 1))
	tlsConfig   = certified(oneOf("FEEDBENCH_TLS", "off", "on") == "on")
)

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

// oneOf returns the variable's value, the first of the two when it is unset.
func oneOf(variable, usual, other string) string {
	value, set := os.LookupEnv(variable)
	if !set {
		return usual
	}
	if value != usual && value != other {
		fail("%s is %q: say %s or %s", variable, value, usual, other)
	}
	return value
}

func number(variable string, usual, least int64) int64 {
	value, set := os.LookupEnv(variable)
	if !set {
		return usual
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil || parsed < least {
		fail("%s is %q: say a whole number from %d on", variable, value, least)
	}
	return parsed
}

// certified is the configuration for wss, nil for plain ws. It offers no application protocol, so net/http
// stays with HTTP/1.1, which the WebSocket upgrade wants.
func certified(wanted bool) *tls.Config {
	if !wanted {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(os.Getenv("FEEDBENCH_TLS_CERTIFICATE"), os.Getenv("FEEDBENCH_TLS_KEY"))
	if err != nil {
		fail("cannot use FEEDBENCH_TLS_CERTIFICATE with FEEDBENCH_TLS_KEY: %v", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}
