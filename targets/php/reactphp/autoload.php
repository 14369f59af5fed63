<?php

// ReactPHP from Debian's icinga-php-thirdparty, and the classes of this target and of _support.

declare(strict_types=1);

const THIRD_PARTY = '/usr/share/icinga-php/vendor/vendor/autoload.php';

if (!is_file(THIRD_PARTY)) {
    fwrite(STDERR, THIRD_PARTY . " is missing (Debian: apt-get install icinga-php-thirdparty)\n");
    exit(127);
}
require THIRD_PARTY;

spl_autoload_register(function (string $class): void {
    $folders = ['Feedbench\\ReactPhp\\' => __DIR__ . '/src/', 'Feedbench\\' => dirname(__DIR__) . '/_support/'];
    foreach ($folders as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            require $folder . substr($class, strlen($prefix)) . '.php';
            return;
        }
    }
});
