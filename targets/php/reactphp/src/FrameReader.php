<?php

declare(strict_types=1);

namespace Feedbench\ReactPhp;

/**
 * RFC 6455's frames of a peer, from bytes as they come (section 5.2).
 *
 * Bytes are consumed by moving an offset; the buffer is cut once for each feed, and not for each frame.
 */
final class FrameReader
{
    private const RESERVED_BITS = 0x70;
    private const FINAL_BIT = 0x80;
    private const MASK_BIT = 0x80;
    private const LONGEST_CONTROL_BYTES = 125;

    private string $buffer = '';
    private int $offset = 0;
    private readonly int $maskBytes;

    public function __construct(private readonly int $mostBytes, Role $role)
    {
        $this->maskBytes = $role->peerMasks() ? Frame::MASK_BYTES : 0;
    }

    public function feed(string $bytes): void
    {
        $this->buffer = $this->offset === strlen($this->buffer) ? $bytes : substr($this->buffer, $this->offset) . $bytes;
        $this->offset = 0;
    }

    /** The next whole frame; null when more bytes are needed. Throws ProtocolError as soon as the head breaks a rule. */
    public function next(): ?Frame
    {
        $available = strlen($this->buffer) - $this->offset;
        if ($available < 2) {
            return null;
        }
        $first = ord($this->buffer[$this->offset]);
        $second = ord($this->buffer[$this->offset + 1]);
        $opcode = Opcode::tryFrom($first & 0x0f) ?? throw new ProtocolError('reserved opcode');
        $final = ($first & self::FINAL_BIT) !== 0;
        $short = $second & 0x7f;
        $this->checkHead($first, $second, $opcode, $final, $short);

        $headBytes = 2 + ($short === 126 ? 2 : ($short === 127 ? 8 : 0));
        if ($available < $headBytes) {
            return null;
        }
        $length = $this->length($short);
        if ($available < $headBytes + $this->maskBytes + $length) {
            return null;
        }
        $mask = substr($this->buffer, $this->offset + $headBytes, $this->maskBytes);
        $payload = substr($this->buffer, $this->offset + $headBytes + $this->maskBytes, $length);
        $this->offset += $headBytes + $this->maskBytes + $length;
        return new Frame($opcode, $final, $mask === '' ? $payload : Frame::masked($payload, $mask));
    }

    private function checkHead(int $first, int $second, Opcode $opcode, bool $final, int $short): void
    {
        if (($first & self::RESERVED_BITS) !== 0) {
            throw new ProtocolError('reserved bit without an extension');
        }
        if ((($second & self::MASK_BIT) !== 0) !== ($this->maskBytes > 0)) {
            throw new ProtocolError('a client must mask, and a server must not');
        }
        if ($opcode->isControl() && (!$final || $short > self::LONGEST_CONTROL_BYTES)) {
            throw new ProtocolError('a control frame in fragments, or longer than 125 bytes');
        }
    }

    private function length(int $short): int
    {
        if ($short < 126) {
            return $short;
        }
        $length = unpack($short === 126 ? 'n' : 'J', $this->buffer, $this->offset + 2)[1];
        if ($length < 0) {
            throw new ProtocolError('a length with its top bit set');
        }
        if ($length > $this->mostBytes) {
            throw new ProtocolError('frame too long', CloseCode::TOO_BIG);
        }
        return $length;
    }
}
