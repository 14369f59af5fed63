<?php

// Echo and stamp servers with Ratchet.

declare(strict_types=1);

use Feedbench\Arguments;
use Feedbench\Failure;
use Feedbench\Knobs;
use Feedbench\Ratchet\EchoComponent;
use Feedbench\Ratchet\StampComponent;
use Ratchet\Http\HttpServer;
use Ratchet\Http\Router;
use Ratchet\Server\IoServer;
use Ratchet\WebSocket\WsServer;
use React\EventLoop\Loop;
use React\Socket\SocketServer;
use Symfony\Component\Routing\Matcher\UrlMatcher;
use Symfony\Component\Routing\RequestContext;
use Symfony\Component\Routing\Route;
use Symfony\Component\Routing\RouteCollection;

require __DIR__ . '/vendor/autoload.php';

$arguments = Arguments::read();
$knobs = new Knobs();

// What Ratchet\App does, but for its Flash policy server on a port of its own and its check of Host and Origin.
$routes = new RouteCollection();
$routes->add('echo', new Route('/echo', ['_controller' => new WsServer(new EchoComponent($knobs))]));
$routes->add('stamp', new Route('/stamp', ['_controller' => new WsServer(new StampComponent($knobs))]));
$application = new HttpServer(new Router(new UrlMatcher($routes, new RequestContext())));

$context = ['tcp' => ['tcp_nodelay' => true]];
$scheme = 'tcp';
if ($knobs->tls) {
    $scheme = 'tls';
    $context['tls'] = ['local_cert' => $knobs->certificateFile, 'local_pk' => $knobs->keyFile];
}
try {
    $socket = new SocketServer("$scheme://{$arguments->authority()}", $context);
} catch (RuntimeException | InvalidArgumentException $error) {
    Failure::cannotListen($arguments, $error);
}
foreach ([SIGTERM, SIGINT] as $signal) {
    Loop::addSignal($signal, function (): never {
        exit(0);
    });
}
(new IoServer($application, $socket, Loop::get()))->run();
