module feedbench/targets/go/fasthttp-websocket

go 1.21

require (
	feedbench/targets/go/support v0.0.0
	github.com/fasthttp/websocket v1.5.12
	github.com/valyala/fasthttp v1.58.0
)

require (
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/klauspost/compress v1.17.11 // indirect
	github.com/savsgio/gotils v0.0.0-20240704082632-aef3928b8a38 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/net v0.33.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace feedbench/targets/go/support => ../_support
