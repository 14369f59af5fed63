<?php

// Echo and stamp servers with ReactPHP's event loop and sockets; RFC 6455 by hand, in src/.

declare(strict_types=1);

use Feedbench\Arguments;
use Feedbench\Failure;
use Feedbench\Knobs;
use Feedbench\ReactPhp\CloseCode;
use Feedbench\ReactPhp\Handshake;
use Feedbench\ReactPhp\Opcode;
use Feedbench\ReactPhp\WebSocket;
use Feedbench\Stamp;
use React\EventLoop\Loop;
use React\Socket\ConnectionInterface;
use React\Socket\SocketServer;

require __DIR__ . '/autoload.php';

const LONGEST_HEAD_BYTES = 64 * 1024;

$arguments = Arguments::read();
$knobs = new Knobs();

$services = [
    '/echo' => function (WebSocket $socket, Opcode $opcode, string $message) use ($knobs): void {
        $knobs->beforeAnswer($message);
        $socket->send($opcode, $message);
    },
    '/stamp' => function (WebSocket $socket, Opcode $opcode, string $message) use ($knobs): void {
        $knobs->beforeAnswer($message);
        $answer = Stamp::answer($message);
        if ($answer === null) {
            $socket->close(CloseCode::UNSUPPORTED_DATA);
            return;
        }
        $socket->send(Opcode::Text, $answer);
    },
];

$serve = function (ConnectionInterface $connection) use ($services): void {
    $head = '';
    $shakeHands = function (string $bytes) use ($connection, $services, &$head, &$shakeHands): void {
        $head .= $bytes;
        $end = strpos($head, "\r\n\r\n");
        if ($end === false) {
            if (strlen($head) > LONGEST_HEAD_BYTES) {
                $connection->close();
            }
            return;
        }
        $connection->removeListener('data', $shakeHands);
        $handshake = Handshake::answerTo(substr($head, 0, $end), array_keys($services));
        if ($handshake->path === null) {
            $connection->end($handshake->answer);
            return;
        }
        $connection->write($handshake->answer);
        $socket = new WebSocket($connection, $services[$handshake->path]);
        $connection->on('data', $socket->receive(...));
        if ($handshake->path === '/stamp') {
            $socket->send(Opcode::Text, Stamp::of(0));
        }
        $socket->receive(substr($head, $end + 4));
    };
    $connection->on('data', $shakeHands);
};

$context = ['tcp' => ['tcp_nodelay' => true]];
$scheme = 'tcp';
if ($knobs->tls) {
    $scheme = 'tls';
    $context['tls'] = ['local_cert' => $knobs->certificateFile, 'local_pk' => $knobs->keyFile];
}
try {
    $server = new SocketServer("$scheme://{$arguments->authority()}", $context);
} catch (RuntimeException | InvalidArgumentException $error) {
    Failure::cannotListen($arguments, $error);
}
$server->on('connection', $serve);
foreach ([SIGTERM, SIGINT] as $signal) {
    Loop::addSignal($signal, function (): never {
        exit(0);
    });
}
Loop::run();
