<?php

declare(strict_types=1);

namespace Feedbench;

use RuntimeException;

/** The sink `stamps`: one write to the kernel for each message. */
final class StampsSink implements Sink
{
    private const VERSION = 1;
    private const TEXT = 1;
    private const BINARY = 2;
    private const CONNECTED = 3;
    private const END = 4;

    /** @var resource */
    private $file;

    public function __construct(string $path)
    {
        $file = @fopen($path, 'ab');
        if ($file === false) {
            throw new RuntimeException(self::lastError());
        }
        $this->file = $file;
        stream_set_write_buffer($file, 0);
        if (fstat($file)['size'] === 0) {
            $this->write(pack('a8VV', 'FBSTAMPS', self::VERSION, 0));
        }
    }

    public function connected(Moment $at): void
    {
        $this->record($at, self::CONNECTED, '');
    }

    public function message(Moment $at, string $message, bool $isBinary): void
    {
        $this->record($at, $isBinary ? self::BINARY : self::TEXT, $message);
    }

    public function end(Moment $at, string $reason): void
    {
        $this->record($at, self::END, $reason);
    }

    private function record(Moment $at, int $kind, string $payload): void
    {
        // The kind is one byte, and three of zero.
        $this->write(pack('PPVV', $at->monotonicNs, $at->unixMs, strlen($payload), $kind) . $payload);
    }

    private function write(string $bytes): void
    {
        $written = @fwrite($this->file, $bytes);
        if ($written !== strlen($bytes)) {
            throw new RuntimeException(self::lastError());
        }
    }

    private static function lastError(): string
    {
        return preg_replace('/\A.*: /', '', error_get_last()['message'] ?? 'only a part of a record was taken');
    }
}
