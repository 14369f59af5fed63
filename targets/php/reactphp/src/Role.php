<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

/** A client masks what it sends, a server does not (RFC 6455, section 5.1). */
enum Role
{
    case Client;
    case Server;

    public function peerMasks(): bool
    {
        return $this === self::Server;
    }
}
