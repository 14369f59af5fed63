module feedbench/targets/go/coder

go 1.23

require (
	feedbench/targets/go/support v0.0.0
	github.com/coder/websocket v1.8.15
)

require github.com/mattn/go-sqlite3 v1.14.53 // indirect

require (
	feedbench/targets/go/support/feed v0.0.0
	golang.org/x/sys v0.30.0 // indirect
)

replace feedbench/targets/go/support => ../_support

replace feedbench/targets/go/support/feed => ../_support/feed
