<?php

declare(strict_types=1);

namespace Feedbench;

/** The knobs that all servers honour, from variables FEEDBENCH_…; a wrong one ends the program. */
final class Knobs
{
    public readonly bool $tls;
    public readonly string $certificateFile;
    public readonly string $keyFile;
    private readonly bool $logMessages;
    private readonly int $delayNs;

    public function __construct()
    {
        $this->logMessages = self::oneOf('FEEDBENCH_LOG_MESSAGES', 'false', 'true') === 'true';
        $this->delayNs = self::wholeNumber('FEEDBENCH_DELAY_NS');
        $this->tls = self::oneOf('FEEDBENCH_TLS', 'off', 'on') === 'on';
        $this->certificateFile = $this->tls ? self::readableFile('FEEDBENCH_TLS_CERTIFICATE') : '';
        $this->keyFile = $this->tls ? self::readableFile('FEEDBENCH_TLS_KEY') : '';
    }

    /** What the knobs want done first: printing the message, and spinning for a while. */
    public function beforeAnswer(string $message): void
    {
        if ($this->logMessages) {
            echo $message, "\n";
        }
        if ($this->delayNs > 0) {
            $until = hrtime(true) + $this->delayNs;
            while (hrtime(true) < $until) {
            }
        }
    }

    private static function oneOf(string $variable, string $usual, string $other): string
    {
        $value = getenv($variable);
        if ($value === false) {
            return $usual;
        }
        if ($value !== $usual && $value !== $other) {
            Failure::end(1, "$variable is \"$value\": say $usual or $other");
        }
        return $value;
    }

    private static function wholeNumber(string $variable): int
    {
        $value = getenv($variable);
        if ($value === false) {
            return 0;
        }
        if (preg_match('/\A[0-9]{1,18}\z/', $value) !== 1) {
            Failure::end(1, "$variable is \"$value\": say a whole number from 0 on");
        }
        return (int) $value;
    }

    private static function readableFile(string $variable): string
    {
        $file = (string) getenv($variable);
        if (!is_readable($file)) {
            Failure::end(1, "cannot read \"$file\", named by $variable");
        }
        return $file;
    }
}
