// Package support is what the Go targets share: command line, knobs, listening and the stamp model's messages.
// What a target measures, its library's handshake, reading and writing, stands in the target.
package support

import (
	"context"
	"crypto/tls"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Serve listens as the command line and the knobs say and hands the listener to serve, until SIGTERM.
// Go sets TCP_NODELAY on every connection that it accepts.
func Serve(serve func(net.Listener) error) {
	host := flag.String("host", "127.0.0.1", "address to listen on")
	port := flag.Int("port", 0, "port to listen on")
	flag.Parse()
	runtime.GOMAXPROCS(threads) // so many threads run Go code at a time, the collector's work included

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	listener := listen(net.JoinHostPort(*host, strconv.Itoa(*port)))
	go func() {
		fail("cannot serve any longer: %v", serve(listener))
	}()
	<-stop
}

func listen(address string) net.Listener {
	configuration := net.ListenConfig{}
	if reusePort {
		configuration.Control = sharePort
	}
	listener, err := configuration.Listen(context.Background(), "tcp", address)
	if err != nil {
		fail("cannot listen: %v", err)
	}
	if tlsConfig != nil {
		return tls.NewListener(listener, tlsConfig)
	}
	return listener
}

func sharePort(_, _ string, socket syscall.RawConn) error {
	var failure error
	err := socket.Control(func(descriptor uintptr) {
		failure = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	if err != nil {
		return err
	}
	return failure
}

// BeforeAnswer does what the knobs ask for between a message and its answer; usually nothing.
func BeforeAnswer(message []byte) {
	if logMessages {
		log.Printf("%s", message)
	}
	if delay > 0 {
		for start := time.Now(); time.Since(start) < delay; {
		}
	}
}
