<?php

declare(strict_types=1);

namespace Feedbench;

use SQLite3;
use SQLite3Stmt;

/** The sink `sqlite`: each message is a row before the next one is handed over. */
final class SqliteSink implements Sink
{
    private const SCHEMA = <<<'SQL'
        PRAGMA synchronous=OFF; PRAGMA journal_mode=WAL;
        CREATE TABLE IF NOT EXISTS test_details (test_id INTEGER PRIMARY KEY, vps_id TEXT, connector_id TEXT,
            exchange_id TEXT, stream_id TEXT, stream_args TEXT, datetime_start INTEGER);
        CREATE TABLE IF NOT EXISTS events (event_id INTEGER PRIMARY KEY, datetime_received INTEGER, event TEXT,
            received_ns INTEGER);
        SQL;

    private readonly SQLite3 $database;
    private readonly SQLite3Stmt $insert;

    public function __construct(FeedSettings $settings)
    {
        $this->database = new SQLite3($settings->output);
        $this->database->enableExceptions(true);
        $this->database->exec(self::SCHEMA);
        $start = $this->database->prepare(
            'INSERT INTO test_details (vps_id, connector_id, exchange_id, stream_id, stream_args, datetime_start)'
                . ' VALUES (?, ?, ?, ?, ?, ?)',
        );
        $details = [gethostname(), $settings->target, $settings->exchange, $settings->stream, $settings->subscribe];
        foreach ($details as $column => $detail) {
            $start->bindValue($column + 1, $detail);
        }
        $start->bindValue(count($details) + 1, Moment::after()->unixMs);
        $start->execute();
        $this->insert = $this->database->prepare(
            'INSERT INTO events (datetime_received, event, received_ns) VALUES (?, ?, ?)',
        );
    }

    public function connected(Moment $at): void
    {
    }

    public function message(Moment $at, string $message, bool $isBinary): void
    {
        $this->insert->bindValue(1, $at->unixMs);
        $this->insert->bindValue(2, $message, $isBinary ? SQLITE3_BLOB : SQLITE3_TEXT);
        $this->insert->bindValue(3, $at->monotonicNs);
        $this->insert->execute()->finalize();
    }

    public function end(Moment $at, string $reason): void
    {
        $this->database->close();
    }
}
