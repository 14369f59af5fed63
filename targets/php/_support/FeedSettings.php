<?php

declare(strict_types=1);

namespace Feedbench;

/** What a feed client's command line and environment say (spec/feed.md). */
final class FeedSettings
{
    private const WRONG_USAGE = 2;
    private const UNSUPPORTED = 127;
    private const MOST_PORT = 65535;

    /** Null: trust the system's authorities. */
    public readonly ?string $authorityFile;
    public readonly ?string $subscribe;
    public readonly string $sink;
    public readonly string $output;
    public readonly ?string $exitFile;
    public readonly bool $parse;
    public readonly bool $logMessages;
    public readonly bool $stampBefore;
    public readonly int $delayNs;

    private function __construct(
        public readonly string $target,
        public readonly string $exchange,
        public readonly string $origin,
        public readonly string $stream,
        bool $canStampBefore,
    ) {
        $this->authorityFile = self::variable('FEEDBENCH_CA_FILE');
        $this->subscribe = self::variable('FEEDBENCH_SUBSCRIBE');
        $this->sink = self::knob('FEEDBENCH_SINK', ...self::sinks());
        $this->output = self::variable('FEEDBENCH_OUTPUT') ?? '';
        $this->exitFile = self::variable('FEEDBENCH_EXIT_FILE');
        $this->parse = self::knob('FEEDBENCH_PARSE', 'off', 'on') === 'on';
        $this->logMessages = self::knob('FEEDBENCH_LOG_MESSAGES', 'false', 'true') === 'true';
        $stamps = $canStampBefore ? ['after', 'before'] : ['after'];
        $this->stampBefore = self::knob('FEEDBENCH_STAMP', ...$stamps) === 'before';
        $this->delayNs = self::delayNs();
        self::knob('FEEDBENCH_DEFLATE', 'default', 'off');
        if ($this->output === '' && $this->sink !== 'none') {
            Failure::end(self::WRONG_USAGE, 'FEEDBENCH_OUTPUT names no file for what is received');
        }
        if ($this->authorityFile !== null && !is_readable($this->authorityFile)) {
            Failure::end(1, "cannot read FEEDBENCH_CA_FILE {$this->authorityFile}");
        }
    }

    /** Ends the program with one line when they make no sense. */
    public static function read(string $target, bool $canStampBefore): self
    {
        global $argv;
        if (count($argv) !== 5) {
            Failure::end(self::WRONG_USAGE, 'usage: client.php EXCHANGE DOMAIN PORT STREAM');
        }
        [, $exchange, $domain, $port, $stream] = $argv;
        if (preg_match('/\A[0-9]{1,5}\z/', $port) !== 1 || (int) $port > self::MOST_PORT) {
            Failure::end(self::WRONG_USAGE, "the port is $port: say a number up to " . self::MOST_PORT);
        }
        $origin = str_starts_with($domain, 'ws://') ? $domain : "wss://$domain";
        return new self($target, $exchange, "$origin:$port", $stream, $canStampBefore);
    }

    public function url(): string
    {
        return $this->origin . $this->stream;
    }

    /**
     * What to send once the connection is open.
     *
     * @return list<string>
     */
    public function subscriptions(): array
    {
        return $this->subscribe === null ? [] : explode("\n", $this->subscribe);
    }

    /**
     * SQLite is an extension of its own (Debian: php-sqlite3).
     *
     * @return list<string>
     */
    private static function sinks(): array
    {
        return extension_loaded('sqlite3') ? ['stamps', 'none', 'sqlite'] : ['stamps', 'none'];
    }

    private static function variable(string $name): ?string
    {
        $value = getenv($name);
        return $value === false || $value === '' ? null : $value;
    }

    /** The variable's value, the first of those allowed when it is unset. */
    private static function knob(string $name, string ...$allowed): string
    {
        $value = getenv($name);
        if ($value === false) {
            return $allowed[0];
        }
        if (!in_array($value, $allowed, true)) {
            Failure::end(self::UNSUPPORTED, "$name=$value: this client can't do that");
        }
        return $value;
    }

    private static function delayNs(): int
    {
        $value = self::variable('FEEDBENCH_DELAY_NS') ?? '0';
        if (preg_match('/\A[0-9]{1,18}\z/', $value) !== 1) {
            Failure::end(self::UNSUPPORTED, "FEEDBENCH_DELAY_NS=$value: say a whole number");
        }
        return (int) $value;
    }
}
