module feedbench/targets/go/gws

go 1.21

require (
	feedbench/targets/go/support v0.0.0
	github.com/lxzan/gws v1.8.9
)

require github.com/mattn/go-sqlite3 v1.14.53 // indirect

require (
	feedbench/targets/go/support/feed v0.0.0
	github.com/dolthub/maphash v0.1.0 // indirect
	github.com/klauspost/compress v1.17.9 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace feedbench/targets/go/support => ../_support

replace feedbench/targets/go/support/feed => ../_support/feed
