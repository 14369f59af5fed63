<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

/** RFC 6455, section 7.4, and the codes that IANA registered since. */
final class CloseCode
{
    public const NORMAL = 1000;
    public const PROTOCOL_ERROR = 1002;
    public const UNSUPPORTED_DATA = 1003;
    public const INVALID_DATA = 1007;
    public const TOO_BIG = 1009;
    public const NONE = 1005; // never on the wire: there was no code

    /** Whether a peer may send it: 1004 to 1006 and 1015 never stand on the wire. */
    public static function maySend(int $code): bool
    {
        return ($code >= 1000 && $code <= 1003) || ($code >= 1007 && $code <= 1014) || ($code >= 3000 && $code <= 4999);
    }
}
