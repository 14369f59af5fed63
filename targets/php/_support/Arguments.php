<?php

declare(strict_types=1);

namespace Feedbench;

/** The address to listen on, from the command line: `--host H --port P`. */
final class Arguments
{
    private function __construct(public readonly string $host, public readonly int $port)
    {
    }

    /** Ends the program with status 2 and one line when they make no sense. */
    public static function read(): self
    {
        $given = getopt('', ['host:', 'port:']);
        $port = filter_var($given['port'] ?? '', FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => 65535]]);
        $host = $given['host'] ?? '127.0.0.1';
        if ($port === false || !is_string($host)) {
            Failure::end(2, 'say --host ADDRESS --port 1..65535');
        }
        return new self($host, $port);
    }

    /** As an URL has it: IPv6 in brackets. */
    public function authority(): string
    {
        $host = str_contains($this->host, ':') ? "[{$this->host}]" : $this->host;
        return "$host:{$this->port}";
    }
}
