<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

final class Frame
{
    public function __construct(
        public readonly Opcode $opcode,
        public readonly bool $final,
        public readonly string $payload,
    ) {
    }

    /** A whole, unmasked message or control frame as a server sends it. */
    public static function encode(Opcode $opcode, string $payload): string
    {
        $first = chr(0x80 | $opcode->value);
        $length = strlen($payload);
        return match (true) {
            $length < 126 => $first . chr($length) . $payload,
            $length < 65536 => $first . "\x7e" . pack('n', $length) . $payload,
            default => $first . "\x7f" . pack('J', $length) . $payload,
        };
    }
}
