using System;
using System.Globalization;

namespace Feedbench
{
    /// <summary>The address to listen on, from the command line: <c>--host H --port P</c>.</summary>
    public sealed class Arguments
    {
        public string Host { get; private set; }

        public int Port { get; private set; }

        /// <summary>As an URL has it: IPv6 in brackets.</summary>
        public string Authority => Host.Contains(":") ? $"[{Host}]:{Port}" : $"{Host}:{Port}";

        /// <summary>Ends the program with status 2 and one line when they make no sense.</summary>
        public static Arguments Read(string[] words)
        {
            var arguments = new Arguments { Host = "127.0.0.1" };
            for (int at = 0; at < words.Length; at += 2)
            {
                string value = at + 1 < words.Length ? words[at + 1] : null;
                if (words[at] == "--host" && value != null)
                    arguments.Host = value;
                else if (words[at] == "--port" && IsPort(value, out int port))
                    arguments.Port = port;
                else
                    Fail.With(2, $"\"{words[at]} {value}\": say --host ADDRESS --port 1..65535");
            }
            if (arguments.Port == 0)
                Fail.With(2, "--port is missing: say --host ADDRESS --port 1..65535");
            return arguments;
        }

        private static bool IsPort(string text, out int port)
        {
            return int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out port)
                && port > 0
                && port <= 65535;
        }
    }
}
