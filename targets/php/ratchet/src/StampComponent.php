<?php

declare(strict_types=1);

namespace Feedbench\Ratchet;

use Exception;
use Feedbench\Knobs;
use Feedbench\Stamp;
use Ratchet\ConnectionInterface;
use Ratchet\MessageComponentInterface;

final class StampComponent implements MessageComponentInterface
{
    private const UNSUPPORTED_DATA = 1003;

    public function __construct(private readonly Knobs $knobs)
    {
    }

    public function onOpen(ConnectionInterface $conn): void
    {
        $conn->send(Stamp::of(0));
    }

    public function onMessage(ConnectionInterface $from, $msg): void
    {
        $this->knobs->beforeAnswer($msg);
        $answer = Stamp::answer($msg);
        if ($answer === null) {
            $from->close(self::UNSUPPORTED_DATA);
            return;
        }
        $from->send($answer);
    }

    public function onClose(ConnectionInterface $conn): void
    {
    }

    public function onError(ConnectionInterface $conn, Exception $e): void
    {
        $conn->close();
    }
}
