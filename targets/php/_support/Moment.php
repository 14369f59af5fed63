<?php

declare(strict_types=1);

namespace Feedbench;

/** When a message was handed over: CLOCK_MONOTONIC, which all processes share, and Unix time. */
final class Moment
{
    private function __construct(public readonly int $monotonicNs, public readonly int $unixMs)
    {
    }

    /** Now, or after spinning, for the control whose messages are late by a known time. */
    public static function after(int $delayNs = 0): self
    {
        $monotonicNs = hrtime(true);
        for ($until = $monotonicNs + $delayNs; $monotonicNs < $until;) {
            $monotonicNs = hrtime(true);
        }
        return new self($monotonicNs, (int) (microtime(true) * 1000));
    }
}
