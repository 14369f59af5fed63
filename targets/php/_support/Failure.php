<?php

declare(strict_types=1);

namespace Feedbench;

use Throwable;

final class Failure
{
    /** One line on stderr, and the end of the program. */
    public static function end(int $status, string $line): never
    {
        fwrite(STDERR, "$line\n");
        exit($status);
    }

    public static function cannotListen(Arguments $arguments, Throwable $error): never
    {
        $reason = strtok($error->getMessage(), "\n");
        self::end(1, "cannot listen on {$arguments->authority()}: $reason");
    }
}
