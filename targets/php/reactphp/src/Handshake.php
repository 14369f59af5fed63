<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

/** The opening handshake (RFC 6455, section 4): from a request's head to the answer, and a client's side of it. */
final class Handshake
{
    private const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
    private const VERSION = '13';
    private const KEY_BYTES = 16;

    private function __construct(
        public readonly string $answer,
        public readonly ?string $path,
    ) {
    }

    /**
     * `path` is null when the request is refused.
     *
     * @param list<string> $paths those that are served
     */
    public static function answerTo(string $head, array $paths): self
    {
        $lines = explode("\r\n", $head);
        $requestLine = array_shift($lines);
        if (preg_match('#\AGET (?:http://[^/ ]*)?(/[^? ]*)(?:\?\S*)? HTTP/1\.1\z#', $requestLine, $found) !== 1) {
            return self::refusal('400 Bad Request');
        }
        $headers = self::headers($lines);
        if ($headers === null || !isset($headers['host'])) {
            return self::refusal('400 Bad Request');
        }
        if (!in_array($found[1], $paths, true)) {
            return self::refusal('404 Not Found');
        }
        if (!self::has($headers, 'upgrade', 'websocket') || !self::has($headers, 'connection', 'upgrade')) {
            return self::refusal('426 Upgrade Required', "Upgrade: websocket\r\n");
        }
        if (($headers['sec-websocket-version'] ?? '') !== self::VERSION) {
            return self::refusal('426 Upgrade Required', 'Sec-WebSocket-Version: ' . self::VERSION . "\r\n");
        }
        $key = $headers['sec-websocket-key'] ?? '';
        if (strlen((string) base64_decode($key, true)) !== self::KEY_BYTES) {
            return self::refusal('400 Bad Request');
        }
        return new self(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                . 'Sec-WebSocket-Accept: ' . self::accept($key) . "\r\n\r\n",
            $found[1],
        );
    }

    /**
     * What a client asks with, and the answer's Sec-WebSocket-Accept that it then wants.
     *
     * @return array{string, string}
     */
    public static function request(string $authority, string $target): array
    {
        $key = base64_encode(random_bytes(self::KEY_BYTES));
        $head = "GET $target HTTP/1.1\r\nHost: $authority\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            . "Sec-WebSocket-Key: $key\r\nSec-WebSocket-Version: " . self::VERSION . "\r\n\r\n";
        return [$head, self::accept($key)];
    }

    /** Whether a server's head says that the connection is a WebSocket now. */
    public static function isAccepted(string $head, string $accept): bool
    {
        $lines = explode("\r\n", $head);
        $status = array_shift($lines);
        $headers = self::headers($lines) ?? [];
        return str_starts_with($status, 'HTTP/1.1 101')
            && self::has($headers, 'upgrade', 'websocket')
            && self::has($headers, 'connection', 'upgrade')
            && ($headers['sec-websocket-accept'] ?? '') === $accept;
    }

    private static function accept(string $key): string
    {
        return base64_encode(sha1($key . self::GUID, true));
    }

    private static function refusal(string $status, string $header = ''): self
    {
        return new self("HTTP/1.1 $status\r\n{$header}Connection: close\r\nContent-Length: 0\r\n\r\n", null);
    }

    /**
     * By name in small letters; what stands in several lines is joined by commas. Null when a line is no header.
     *
     * @param list<string> $lines
     * @return array<string, string>|null
     */
    private static function headers(array $lines): ?array
    {
        $headers = [];
        foreach ($lines as $line) {
            if (preg_match('/\A([!#$%&\'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*\z/s', $line, $found) !== 1) {
                return null;
            }
            $name = strtolower($found[1]);
            $headers[$name] = isset($headers[$name]) ? "$headers[$name], $found[2]" : $found[2];
        }
        return $headers;
    }

    /** @param array<string, string> $headers */
    private static function has(array $headers, string $name, string $token): bool
    {
        $tokens = array_map('trim', explode(',', strtolower($headers[$name] ?? '')));
        return in_array($token, $tokens, true);
    }
}
