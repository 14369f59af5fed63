# frozen_string_literal: true

# Echo and stamp servers with faye-websocket on Thin.

require "thin"
require "faye/websocket"
require_relative "../_support/support"

Faye::WebSocket.load_adapter("thin")

NOT_A_STAMP = 4003 # close takes 1000 and the private codes only
NOT_FOUND = [404, { "Content-Type" => "text/plain" }, ["there is nothing here\n"]].freeze

# Binary messages come as an Array of bytes, and go out as they came.
def serve_echoes(socket)
  socket.on(:message) do |event|
    Knobs.before_answer(event.data)
    socket.send(event.data)
  end
end

def serve_stamps(socket)
  socket.on(:open) { socket.send(Stamp.greeting) }
  socket.on(:message) do |event|
    message = event.data.is_a?(Array) ? event.data.pack("C*").force_encoding("UTF-8") : event.data
    Knobs.before_answer(message)
    stamped = Stamp.answer(message)
    stamped ? socket.send(stamped) : socket.close(NOT_A_STAMP)
  end
end

SERVE = { "/echo" => method(:serve_echoes), "/stamp" => method(:serve_stamps) }.freeze

APPLICATION = lambda do |env|
  serve = SERVE[env["PATH_INFO"]]
  next NOT_FOUND unless serve && Faye::WebSocket.websocket?(env)

  socket = Faye::WebSocket.new(env)
  serve.call(socket)
  socket.rack_response
end

host, port = Launch.address
Thin::Logging.silent = true
server = Thin::Server.new(host, port, APPLICATION, signals: false)
if (tls = Knobs.tls_options)
  server.ssl = true
  server.ssl_options = tls
end
EM.epoll
begin
  EM.run do
    %w[TERM INT].each { |name| Signal.trap(name) { EM.stop } }
    server.start
  end
rescue RuntimeError => e
  Launch.fail_with("cannot listen on #{host}:#{port}: #{e.message}")
end
