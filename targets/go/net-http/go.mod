module feedbench/targets/go/net-http

go 1.24

require feedbench/targets/go/support/feed v0.0.0

require github.com/mattn/go-sqlite3 v1.14.53 // indirect

replace feedbench/targets/go/support/feed => ../_support/feed
