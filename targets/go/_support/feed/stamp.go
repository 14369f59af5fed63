package feed

import (
	"time"
	_ "unsafe" // for go:linkname
)

// Stamp is when a message was handed over.
type Stamp struct {
	monotonicNs uint64 // CLOCK_MONOTONIC, the same for all processes
	unixMs      uint64
}

// nanotime reads CLOCK_MONOTONIC without a system call; package time gives it only as a difference.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// now waits first, for the control whose messages are late by a known time; usually not.
func now(delay time.Duration) Stamp {
	monotonicNs := nanotime()
	for until := monotonicNs + int64(delay); monotonicNs < until; {
		monotonicNs = nanotime()
	}
	return Stamp{uint64(monotonicNs), uint64(time.Now().UnixMilli())}
}
