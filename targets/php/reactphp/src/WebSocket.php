<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

use React\Socket\ConnectionInterface;

/** One upgraded connection: messages from fragments, answers to control frames, the closing handshake. */
final class WebSocket
{
    public const MOST_MESSAGE_BYTES = 64 * 1024 * 1024;

    private readonly FrameReader $frames;
    private ?Opcode $opcode = null;
    private string $message = '';
    private bool $closeSent = false;
    private bool $closed = false;
    private bool $waits = false;

    /**
     * @param callable(self, Opcode, string): void $onMessage
     * @param (callable(int, string): void)|null $onClose with the code and the reason of the peer's close frame
     */
    public function __construct(
        private readonly ConnectionInterface $connection,
        private $onMessage,
        private readonly Role $role = Role::Server,
        private $onClose = null,
    ) {
        $this->frames = new FrameReader(self::MOST_MESSAGE_BYTES, $role);
    }

    public function receive(string $bytes): void
    {
        $this->frames->feed($bytes);
        try {
            while (!$this->closed && ($frame = $this->frames->next()) !== null) {
                $this->handle($frame);
            }
        } catch (ProtocolError $error) {
            $this->sendClose(pack('n', $error->getCode()));
            $this->end();
        }
    }

    public function send(Opcode $opcode, string $message): void
    {
        if (!$this->connection->write(Frame::encode($opcode, $message, $this->role)) && !$this->waits) {
            $this->waits = true; // a peer that does not read is not read from either
            $this->connection->pause();
            $this->connection->once('drain', function (): void {
                $this->waits = false;
                $this->connection->resume();
            });
        }
    }

    /** A server closes the connection first (RFC 6455, section 7.1.1); a client takes what comes before that. */
    public function close(int $code): void
    {
        $this->sendClose(pack('n', $code));
        if ($this->role === Role::Server) {
            $this->end();
        }
    }

    private function handle(Frame $frame): void
    {
        match ($frame->opcode) {
            Opcode::Ping => $this->send(Opcode::Pong, $frame->payload),
            Opcode::Pong => null,
            Opcode::Close => $this->answerClose($frame->payload),
            default => $this->append($frame),
        };
    }

    private function append(Frame $frame): void
    {
        $continues = $frame->opcode === Opcode::Continuation;
        if ($continues !== ($this->opcode !== null)) {
            throw new ProtocolError($continues ? 'nothing to continue' : 'a message inside another');
        }
        $this->opcode ??= $frame->opcode;
        $this->message .= $frame->payload;
        if (strlen($this->message) > self::MOST_MESSAGE_BYTES) {
            throw new ProtocolError('message too long', CloseCode::TOO_BIG);
        }
        if (!$frame->final) {
            return;
        }
        [$opcode, $message] = [$this->opcode, $this->message];
        [$this->opcode, $this->message] = [null, ''];
        if ($opcode === Opcode::Text) {
            self::checkUtf8($message);
        }
        ($this->onMessage)($this, $opcode, $message);
    }

    private function answerClose(string $payload): void
    {
        if ($payload !== '') {
            if (strlen($payload) === 1 || !CloseCode::maySend(unpack('n', $payload)[1])) {
                throw new ProtocolError('a Close without a code that may be sent');
            }
            self::checkUtf8(substr($payload, 2));
        }
        $this->sendClose(substr($payload, 0, 2));
        $this->end();
        if ($this->onClose !== null) {
            $code = $payload === '' ? CloseCode::NONE : unpack('n', $payload)[1];
            ($this->onClose)($code, substr($payload, 2));
        }
    }

    private function sendClose(string $payload): void
    {
        if (!$this->closeSent) {
            $this->closeSent = true;
            $this->connection->write(Frame::encode(Opcode::Close, $payload, $this->role));
        }
    }

    private function end(): void
    {
        $this->closed = true;
        $this->connection->end();
    }

    private static function checkUtf8(string $text): void
    {
        if (preg_match('//u', $text) !== 1) {
            throw new ProtocolError('text that is no UTF-8', CloseCode::INVALID_DATA);
        }
    }
}
