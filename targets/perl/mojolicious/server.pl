#!/usr/bin/perl
# Echo and stamp servers with Mojolicious.
use Mojolicious::Lite -signatures;

use Getopt::Long qw(GetOptions);
use Mojo::JSON   qw(decode_json encode_json);
use Mojo::Server::Daemon;
use Mojo::URL;
use Time::HiRes qw(CLOCK_MONOTONIC clock_gettime);

use constant MAXIMUM_MESSAGE_BYTES => 16 * 1024 * 1024;    # Mojolicious' default is 256 KiB
use constant UNSUPPORTED_DATA      => 1003;

sub one_of ($variable, $usual, $other) {
    my $value = $ENV{$variable} // $usual;
    return $value if $value eq $usual || $value eq $other;
    die qq{$variable is "$value": say $usual or $other\n};
}

sub whole_number ($variable) {
    my $value = $ENV{$variable} // 0;
    return $value if $value =~ /\A[0-9]+\z/a;
    die qq{$variable is "$value": say a whole number from 0 on\n};
}

my $DEFLATE      = one_of('FEEDBENCH_DEFLATE',      'off',   'on') eq 'on';
my $LOG_MESSAGES = one_of('FEEDBENCH_LOG_MESSAGES', 'false', 'true') eq 'true';
my $REUSE_PORT   = one_of('FEEDBENCH_REUSE_PORT',   'off',   'on') eq 'on';
my $TLS          = one_of('FEEDBENCH_TLS',          'off',   'on') eq 'on';
my $DELAY_S      = whole_number('FEEDBENCH_DELAY_NS') / 1e9;

sub before_answer ($message) {
    say $message if $LOG_MESSAGES;
    return unless $DELAY_S;
    my $start = clock_gettime(CLOCK_MONOTONIC);
    1 while clock_gettime(CLOCK_MONOTONIC) - $start < $DELAY_S;
    return;
}

sub stamped ($count) {
    return encode_json({c => $count, ts => time});
}

# The answer to {"c":n}; undef for anything else.
sub stamp_answer ($message) {
    my $request = eval { decode_json($message) };
    return undef unless ref $request eq 'HASH';
    my $count = $request->{c};

    # A number in JSON is a scalar without a string form; whole ones have no fraction.
    return undef if !defined $count || ref $count || encode_json([$count]) !~ /\A\[-?[0-9]{1,18}\]\z/a;
    return stamped($count);
}

sub prepare ($c) {
    $c->tx->max_websocket_size(MAXIMUM_MESSAGE_BYTES);
    $c->tx->with_compression if $DEFLATE;
    return;
}

# The events "text" and "binary" carry bytes; "message" would decode each text for nothing.
websocket '/echo' => sub ($c) {
    prepare($c);
    for my $type (qw(text binary)) {
        $c->on(
            $type => sub ($c, $bytes) {
                before_answer($bytes);
                $c->send({$type => $bytes});
            }
        );
    }
};

websocket '/stamp' => sub ($c) {
    prepare($c);
    for my $type (qw(text binary)) {
        $c->on(
            $type => sub ($c, $bytes) {
                before_answer($bytes);
                my $answer = stamp_answer($bytes);
                return defined $answer ? $c->send({text => $answer}) : $c->finish(UNSUPPORTED_DATA);
            }
        );
    }
    $c->send({text => stamped(0)});
};

my ($host, $port) = ('127.0.0.1', 0);
GetOptions('host=s' => \$host, 'port=i' => \$port) or exit 2;
$| = 1;

my $listen = Mojo::URL->new->scheme($TLS ? 'https' : 'http')->host($host)->port($port);
$listen->query(reuse => 1) if $REUSE_PORT;
if ($TLS) {
    my %file = (cert => $ENV{FEEDBENCH_TLS_CERTIFICATE} // '', key => $ENV{FEEDBENCH_TLS_KEY} // '');
    -r or die qq{cannot read "$_", named by FEEDBENCH_TLS_CERTIFICATE or FEEDBENCH_TLS_KEY\n} for values %file;
    $listen->query([%file]);
}

app->log->level('fatal');
my $daemon = Mojo::Server::Daemon->new(app => app, listen => ["$listen"], silent => 1);
eval { $daemon->start; 1 } or die "cannot listen on $host:$port: " . $@ =~ s/ at \S+ line [0-9]+\.?\s*\z//r . "\n";
$daemon->run;
