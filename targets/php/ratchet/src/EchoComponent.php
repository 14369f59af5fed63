<?php

declare(strict_types=1);

namespace Feedbench\Ratchet;

use Exception;
use Feedbench\Knobs;
use Ratchet\ConnectionInterface;
use Ratchet\RFC6455\Messaging\MessageInterface;
use Ratchet\WebSocket\MessageComponentInterface;

/** Ratchet\WebSocket's interface tells text from binary, which Ratchet\MessageComponentInterface does not. */
final class EchoComponent implements MessageComponentInterface
{
    public function __construct(private readonly Knobs $knobs)
    {
    }

    public function onOpen(ConnectionInterface $conn): void
    {
    }

    public function onMessage(ConnectionInterface $conn, MessageInterface $msg): void
    {
        $this->knobs->beforeAnswer($msg->getPayload());
        $conn->send($msg);
    }

    public function onClose(ConnectionInterface $conn): void
    {
    }

    public function onError(ConnectionInterface $conn, Exception $e): void
    {
        $conn->close();
    }
}
