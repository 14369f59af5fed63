// Echo and stamp servers with gorilla/websocket.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/gorilla/websocket"
)

var (
	delay       = delayFromEnvironment()
	logMessages = os.Getenv("FEEDBENCH_LOG_MESSAGES") == "true"
	upgrader    = websocket.Upgrader{
		CheckOrigin:       func(*http.Request) bool { return true },
		EnableCompression: os.Getenv("FEEDBENCH_DEFLATE") == "on",
	}
)

type stampMessage struct {
	Count     *int64 `json:"c"`
	Timestamp int64  `json:"ts"`
}

func delayFromEnvironment() time.Duration {
	nanoseconds, _ := strconv.ParseInt(os.Getenv("FEEDBENCH_DELAY_NS"), 10, 64)
	return time.Duration(nanoseconds)
}

func beforeAnswer(message []byte) {
	if logMessages {
		log.Printf("%s", message)
	}
	if delay > 0 {
		for start := time.Now(); time.Since(start) < delay; {
		}
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	for {
		messageType, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		beforeAnswer(message)
		if err := conn.WriteMessage(messageType, message); err != nil {
			return
		}
	}
}

func stamp(w http.ResponseWriter, r *http.Request) {
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	count := int64(0)
	for {
		if err := conn.WriteJSON(stampMessage{&count, time.Now().Unix()}); err != nil {
			return
		}
		_, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		beforeAnswer(message)
		var request stampMessage
		if err := json.Unmarshal(message, &request); err != nil || request.Count == nil {
			closing := websocket.FormatCloseMessage(websocket.CloseUnsupportedData, "")
			conn.WriteControl(websocket.CloseMessage, closing, time.Now().Add(time.Second))
			return
		}
		count = *request.Count
	}
}

func main() {
	host := flag.String("host", "127.0.0.1", "address to listen on")
	port := flag.Int("port", 0, "port to listen on")
	flag.Parse()
	runtime.GOMAXPROCS(1) // one thread runs Go code, as in the other targets

	listener, err := net.Listen("tcp", net.JoinHostPort(*host, strconv.Itoa(*port)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "cannot listen: %v\n", err)
		os.Exit(1)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	http.HandleFunc("/echo", echo)
	http.HandleFunc("/stamp", stamp)
	go http.Serve(listener, nil)
	<-stop
}
