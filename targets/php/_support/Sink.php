<?php

declare(strict_types=1);

namespace Feedbench;

/** Keeps what was received; after each call that is with the kernel. What goes wrong is thrown as a RuntimeException. */
interface Sink
{
    public function connected(Moment $at): void;

    public function message(Moment $at, string $message, bool $isBinary): void;

    /** The last call; an empty reason for an end that was asked for. */
    public function end(Moment $at, string $reason): void;
}
