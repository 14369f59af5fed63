<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

final class Frame
{
    public const MASK_BYTES = 4;

    public function __construct(
        public readonly Opcode $opcode,
        public readonly bool $final,
        public readonly string $payload,
    ) {
    }

    /** A whole message or control frame. */
    public static function encode(Opcode $opcode, string $payload, Role $role): string
    {
        $first = chr(0x80 | $opcode->value);
        $length = strlen($payload);
        [$maskBit, $mask] = $role === Role::Client ? [0x80, random_bytes(self::MASK_BYTES)] : [0, ''];
        $head = match (true) {
            $length < 126 => $first . chr($maskBit | $length),
            $length < 65536 => $first . chr($maskBit | 126) . pack('n', $length),
            default => $first . chr($maskBit | 127) . pack('J', $length),
        };
        return $head . $mask . ($mask === '' ? $payload : self::masked($payload, $mask));
    }

    /** Masks or unmasks. */
    public static function masked(string $payload, string $mask): string
    {
        $length = strlen($payload);
        return $payload ^ substr(str_repeat($mask, intdiv($length, self::MASK_BYTES) + 1), 0, $length);
    }
}
