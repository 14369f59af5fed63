module feedbench/targets/go/x-net

go 1.24.0

require (
	feedbench/targets/go/support v0.0.0
	golang.org/x/net v0.50.0
)

require golang.org/x/sys v0.41.0 // indirect

replace feedbench/targets/go/support => ../_support
