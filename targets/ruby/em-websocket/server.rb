# frozen_string_literal: true

# Echo and stamp servers with em-websocket.

require "em-websocket"
require_relative "../_support/support"

UNSUPPORTED_DATA = 1003
PATHS = %w[/echo /stamp].freeze

# em-websocket takes any path and tells of it only after its answer; a handshake that fails ends the connection.
module KnownPathsOnly
  def process(headers, remains)
    path = @parser.request_url.split("?").first
    return super if PATHS.include?(path)

    fail(EM::WebSocket::HandshakeError.new("there is nothing at #{path}"))
  end
end
EM::WebSocket::Handshake.prepend(KnownPathsOnly)

def serve_echoes(socket)
  socket.onmessage do |text|
    Knobs.before_answer(text)
    socket.send_text(text)
  end
  socket.onbinary do |bytes|
    Knobs.before_answer(bytes)
    socket.send_binary(bytes)
  end
end

def serve_stamps(socket)
  answer = lambda do |message|
    Knobs.before_answer(message)
    stamped = Stamp.answer(message)
    stamped ? socket.send_text(stamped) : socket.close(UNSUPPORTED_DATA)
  end
  socket.onmessage(&answer)
  socket.onbinary(&answer)
  socket.send_text(Stamp.greeting)
end

host, port = Launch.address
tls = Knobs.tls_options
EM.epoll
EM.run do
  %w[TERM INT].each { |name| Signal.trap(name) { EM.stop } }
  EM::WebSocket.start(host: host, port: port, secure: !tls.nil?, tls_options: tls || {}) do |socket|
    socket.onopen do |handshake|
      handshake.path == "/stamp" ? serve_stamps(socket) : serve_echoes(socket)
    end
    socket.onerror { |_error| } # a broken frame is the client's affair, and is answered with a close frame
  end
rescue RuntimeError => e
  Launch.fail_with("cannot listen on #{host}:#{port}: #{e.message}")
end
