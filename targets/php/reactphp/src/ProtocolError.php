<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

use RuntimeException;

/** The peer broke a rule; the code says which in the Close that answers it. */
final class ProtocolError extends RuntimeException
{
    public function __construct(string $message, int $code = CloseCode::PROTOCOL_ERROR)
    {
        parent::__construct($message, $code);
    }
}
