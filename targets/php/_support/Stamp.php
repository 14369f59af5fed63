<?php

declare(strict_types=1);

namespace Feedbench;

/** The stamp model's messages. */
final class Stamp
{
    public static function of(int $count): string
    {
        return json_encode(['c' => $count, 'ts' => time()], JSON_THROW_ON_ERROR);
    }

    /** The answer to {"c":n}; null for anything else. */
    public static function answer(string $message): ?string
    {
        $request = json_decode($message);
        return is_object($request) && is_int($request->c ?? null) ? self::of($request->c) : null;
    }
}
