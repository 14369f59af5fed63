module feedbench/targets/go/gobwas

go 1.26

require (
	feedbench/targets/go/support v0.0.0
	github.com/gobwas/ws v1.5.0
)

require github.com/mattn/go-sqlite3 v1.14.53 // indirect

require (
	feedbench/targets/go/support/feed v0.0.0
	github.com/gobwas/httphead v0.1.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
)

replace feedbench/targets/go/support => ../_support

replace feedbench/targets/go/support/feed => ../_support/feed
