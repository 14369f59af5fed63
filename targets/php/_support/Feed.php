<?php

declare(strict_types=1);

namespace Feedbench;

use Exception;

/** One connection to one exchange, from the command line to the exit status (spec/feed.md). */
final class Feed
{
    public const EXIT_FILE_EVERY_S = 0.25;
    public const CLOSING_AT_MOST_S = 1.0; // a peer that does not answer the close frame is left after that

    private readonly ?Sink $sink;
    private bool $isConnected = false;
    private bool $isEnding = false;

    /** Opens the sink; ends the program when its file can't be had. */
    public function __construct(public readonly FeedSettings $settings)
    {
        try {
            $this->sink = match ($settings->sink) {
                'stamps' => new StampsSink($settings->output),
                'sqlite' => new SqliteSink($settings),
                'none' => null,
            };
        } catch (Exception $error) {
            $this->cannotWrite($error);
        }
    }

    public function connected(): void
    {
        $this->isConnected = true;
        $this->write(fn () => $this->sink?->connected(Moment::after()));
    }

    /** When a message was handed over; the first thing that a handler asks for. */
    public function now(): Moment
    {
        return Moment::after($this->settings->delayNs);
    }

    public function record(Moment $at, string $message, bool $isBinary): void
    {
        $this->write(fn () => $this->sink?->message($at, $message, $isBinary));
        if ($this->settings->parse && !$isBinary) {
            json_decode($message, true); // a text that is no JSON was recorded like any other
        }
        if ($this->settings->logMessages) {
            echo $message, "\n";
        }
    }

    public function exitFileIsThere(): bool
    {
        return $this->settings->exitFile !== null && file_exists($this->settings->exitFile);
    }

    /** SIGTERM or the exit file want the end; true when it is now time for the closing handshake. */
    public function askedToEnd(): bool
    {
        if ($this->isEnding) {
            return false;
        }
        $this->isEnding = true;
        if (!$this->isConnected) {
            exit(0);
        }
        return true;
    }

    public function closed(int $code, string $reason): never
    {
        $this->end(rtrim("closed: $code $reason"));
    }

    public function lost(string $reason): never
    {
        $this->end("lost: $reason");
    }

    public function cannotConnect(string $reason): never
    {
        Failure::end(1, "cannot connect to {$this->settings->url()}: " . strtok($reason, "\n"));
    }

    private function end(string $reason): never
    {
        if ($this->isEnding) {
            $reason = '';
        }
        $this->write(fn () => $this->sink?->end(Moment::after(), $reason));
        if ($reason === '') {
            exit(0);
        }
        Failure::end(1, $reason);
    }

    private function write(callable $step): void
    {
        try {
            $step();
        } catch (Exception $error) {
            $this->cannotWrite($error);
        }
    }

    private function cannotWrite(Exception $error): never
    {
        Failure::end(1, "cannot write {$this->settings->output}: {$error->getMessage()}");
    }
}
