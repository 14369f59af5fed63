using System;
using System.Globalization;
using System.Linq;
using Feedbench;

/// <summary>What a feed client's command line and environment say (spec/feed.md).</summary>
public sealed class FeedSettings
{
    private const int WrongUsage = 2;
    private const int Unsupported = 127;
    private const string Plain = "ws://";

    public string Target { get; private set; }

    public string Exchange { get; private set; }

    public string Stream { get; private set; }

    public Uri Uri { get; private set; }

    public string Subscribe { get; private set; }

    /// <summary>The messages to send once the connection is open.</summary>
    public string[] Subscriptions => Subscribe.Length == 0 ? new string[0] : Subscribe.Split('\n');

    /// <summary>Null: the system's authorities.</summary>
    public string AuthorityFile { get; private set; }

    public string Sink { get; private set; }

    public string Output { get; private set; }

    /// <summary>Null when there is none.</summary>
    public string ExitFile { get; private set; }

    public bool StampBefore { get; private set; }

    public bool Parse { get; private set; }

    public bool LogMessages { get; private set; }

    public long DelayNs { get; private set; }

    /// <summary>Ends the program with one line when something makes no sense.</summary>
    public static FeedSettings Read(string target, string[] words)
    {
        if (words.Length != 4)
            Fail.With(WrongUsage, "usage: Client EXCHANGE DOMAIN PORT STREAM");
        var settings = new FeedSettings
        {
            Target = target,
            Exchange = words[0],
            Stream = words[3],
            Uri = Address(words[1], words[2], words[3]),
            Subscribe = Variable("FEEDBENCH_SUBSCRIBE") ?? "",
            AuthorityFile = Variable("FEEDBENCH_CA_FILE"),
            Sink = Knob("FEEDBENCH_SINK", "stamps", "sqlite", "sqlite_behind", "none"),
            Output = Variable("FEEDBENCH_OUTPUT"),
            ExitFile = Variable("FEEDBENCH_EXIT_FILE"),
            StampBefore = Knob("FEEDBENCH_STAMP", "after", "before") == "before",
            Parse = Knob("FEEDBENCH_PARSE", "off", "on") == "on",
            LogMessages = Knob("FEEDBENCH_LOG_MESSAGES", "false", "true") == "true",
            DelayNs = WholeNumber("FEEDBENCH_DELAY_NS"),
        };
        Knob("FEEDBENCH_DEFLATE", "default", "off"); // this runtime's client has none
        if (settings.Output == null && settings.Sink != "none")
            Fail.With(WrongUsage, "FEEDBENCH_OUTPUT names no file for what is received");
        return settings;
    }

    private static Uri Address(string domain, string port, string stream)
    {
        if (!ushort.TryParse(port, NumberStyles.None, CultureInfo.InvariantCulture, out ushort _))
            Fail.With(WrongUsage, $"the port is {port}: say a number up to {ushort.MaxValue}");
        string origin = domain.StartsWith(Plain, StringComparison.Ordinal) ? domain : "wss://" + domain;
        if (!Uri.TryCreate($"{origin}:{port}{stream}", UriKind.Absolute, out Uri address))
            Fail.With(WrongUsage, $"domain and stream make no URL: {origin}:{port}{stream}");
        return address;
    }

    private static string Variable(string name)
    {
        string value = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(value) ? null : value;
    }

    /// <summary>The first of those allowed when it is unset.</summary>
    private static string Knob(string name, params string[] allowed)
    {
        string value = Variable(name) ?? allowed[0];
        if (!allowed.Contains(value))
            Fail.With(Unsupported, $"{name}={value}: this client can't do that");
        return value;
    }

    private static long WholeNumber(string name)
    {
        string value = Variable(name) ?? "0";
        if (!long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out long number))
            Fail.With(Unsupported, $"{name}={value}: say a whole number");
        return number;
    }
}
