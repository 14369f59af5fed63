# frozen_string_literal: true

# What the Ruby targets share: command line, knobs and the stamp model's messages (spec/README.md).

require "json"
require "optparse"

# How a target starts, and what it says when it can't.
module Launch
  module_function

  # [host, port] from the command line.
  def address
    given = { host: "127.0.0.1", port: 0 }
    OptionParser.new do |options|
      options.on("--host HOST") { |host| given[:host] = host }
      options.on("--port PORT", Integer) { |port| given[:port] = port }
    end.parse!
    given.values_at(:host, :port)
  rescue OptionParser::ParseError => e
    fail_with(e.message)
  end

  def fail_with(problem)
    abort problem
  end
end

# What the environment asks for.
module Knobs
  module_function

  def one_of(variable, usual, other)
    value = ENV.fetch(variable, usual)
    return value if [usual, other].include?(value)

    Launch.fail_with("#{variable} is #{value.inspect}: say #{usual} or #{other}")
  end

  def whole_number(variable)
    value = ENV.fetch(variable, "0")
    return value.to_i if value.match?(/\A\d+\z/)

    Launch.fail_with("#{variable} is #{value.inspect}: say a whole number from 0 on")
  end

  # EventMachine's options for wss; nil for plain ws.
  def tls_options
    return nil unless one_of("FEEDBENCH_TLS", "off", "on") == "on"

    certificate, key = %w[FEEDBENCH_TLS_CERTIFICATE FEEDBENCH_TLS_KEY].map { |name| ENV.fetch(name, "") }
    [certificate, key].each do |file|
      Launch.fail_with("cannot read #{file.inspect}, named by FEEDBENCH_TLS_CERTIFICATE or …_KEY") unless File.file?(file)
    end
    { cert_chain_file: certificate, private_key_file: key }
  end

  LOG_MESSAGES = one_of("FEEDBENCH_LOG_MESSAGES", "false", "true") == "true"
  DELAY_NS = whole_number("FEEDBENCH_DELAY_NS")

  # Does what the knobs ask for between a message and its answer; usually nothing.
  def before_answer(message)
    if LOG_MESSAGES
      $stdout.puts(message.to_s) # one line, also for an Array of bytes
      $stdout.flush
    end
    return unless DELAY_NS.positive?

    start = now_ns
    nil while now_ns - start < DELAY_NS
  end

  def now_ns
    Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
  end
end

# The two messages of the stamp model.
module Stamp
  module_function

  def greeting
    stamped(0)
  end

  # The answer to {"c":n}; nil for anything else, after which the connection should end.
  def answer(message)
    request = JSON.parse(message)
    count = request["c"] if request.is_a?(Hash)
    stamped(count) if count.is_a?(Integer) && count.bit_length < 64
  rescue JSON::ParserError, EncodingError
    nil
  end

  def stamped(count)
    JSON.generate(c: count, ts: Time.now.to_i)
  end
end
