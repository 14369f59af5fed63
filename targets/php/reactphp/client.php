<?php

// Feed client with ReactPHP's event loop and sockets; RFC 6455 by hand, in src/.

declare(strict_types=1);

use Feedbench\Feed;
use Feedbench\FeedSettings;
use Feedbench\ReactPhp\CloseCode;
use Feedbench\ReactPhp\Handshake;
use Feedbench\ReactPhp\Opcode;
use Feedbench\ReactPhp\Role;
use Feedbench\ReactPhp\WebSocket;
use React\EventLoop\Loop;
use React\Socket\ConnectionInterface;
use React\Socket\Connector;

require __DIR__ . '/autoload.php';

$settings = FeedSettings::read('php/reactphp', canStampBefore: false);
$feed = new Feed($settings);

$follow = function (ConnectionInterface $connection, string $early) use ($feed): void {
    $take = function (WebSocket $socket, Opcode $opcode, string $message) use ($feed): void {
        $at = $feed->now();
        $feed->record($at, $message, $opcode === Opcode::Binary);
    };
    $leave = function (int $code, string $reason) use ($feed, $connection): void {
        $connection->removeAllListeners('close');
        $connection->on('close', fn () => $feed->closed($code, $reason)); // once our answer is on its way
    };
    $socket = new WebSocket($connection, $take, Role::Client, $leave);
    $feed->connected();
    $connection->removeAllListeners('close');
    $connection->on('close', fn () => $feed->lost('no close frame'));
    $connection->on('error', fn (Exception $error) => $feed->lost($error->getMessage()));
    $connection->on('data', $socket->receive(...));
    foreach ($feed->settings->subscriptions() as $message) {
        $socket->send(Opcode::Text, $message);
    }

    $end = function () use ($feed, $socket): void {
        if ($feed->askedToEnd()) {
            $socket->close(CloseCode::NORMAL);
            Loop::addTimer(Feed::CLOSING_AT_MOST_S, fn () => $feed->lost('the exchange did not answer the close frame'));
        }
    };
    foreach ([SIGTERM, SIGINT] as $signal) {
        Loop::addSignal($signal, $end);
    }
    Loop::addPeriodicTimer(Feed::EXIT_FILE_EVERY_S, fn () => $feed->exitFileIsThere() && $end());
    $socket->receive($early);
};

$shakeHands = function (ConnectionInterface $connection) use ($feed, $follow): void {
    $url = parse_url($feed->settings->origin);
    [$request, $accept] = Handshake::request("{$url['host']}:{$url['port']}", $feed->settings->stream);
    $connection->on('close', fn () => $feed->cannotConnect('the connection was closed during the handshake'));
    $head = '';
    $read = function (string $bytes) use ($connection, $feed, $follow, $accept, &$head, &$read): void {
        $head .= $bytes;
        $end = strpos($head, "\r\n\r\n");
        if ($end === false) {
            return;
        }
        if (!Handshake::isAccepted(substr($head, 0, $end), $accept)) {
            $feed->cannotConnect(strtok($head, "\r\n"));
        }
        $connection->removeListener('data', $read);
        $follow($connection, substr($head, $end + 4));
    };
    $connection->on('data', $read);
    $connection->write($request);
};

$context = ['tcp' => ['tcp_nodelay' => true]];
if ($settings->authorityFile !== null) {
    $context['tls'] = ['cafile' => $settings->authorityFile];
}
$address = str_replace(['wss://', 'ws://'], ['tls://', 'tcp://'], $settings->origin);
(new Connector($context))->connect($address)->then(
    $shakeHands,
    fn (Exception $error) => $feed->cannotConnect($error->getMessage()),
);
Loop::run();
