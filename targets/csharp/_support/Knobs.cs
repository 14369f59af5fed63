using System;
using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Feedbench
{
    /// <summary>The knobs that all servers honour, from variables FEEDBENCH_….</summary>
    public static class Knobs
    {
        private const long NanosecondsPerSecond = 1000000000; // mcs reads 1_000_000_000 as a thousand times that

        private static readonly bool LogMessages = OneOf("FEEDBENCH_LOG_MESSAGES", "false", "true") == "true";
        private static readonly long DelayTicks =
            WholeNumber("FEEDBENCH_DELAY_NS") * Stopwatch.Frequency / NanosecondsPerSecond;

        /// <summary>Reads the variables, so that a wrong one is told at the start and not at the first message.</summary>
        public static void Check()
        {
            System.Runtime.CompilerServices.RuntimeHelpers.RunClassConstructor(typeof(Knobs).TypeHandle);
        }

        /// <summary>What the knobs want done first: printing the message, and spinning for a while.</summary>
        public static void BeforeAnswer(ArraySegment<byte> message)
        {
            if (LogMessages)
                Console.WriteLine(Encoding.UTF8.GetString(message.Array, message.Offset, message.Count));
            if (DelayTicks == 0)
                return;
            long until = Stopwatch.GetTimestamp() + DelayTicks;
            while (Stopwatch.GetTimestamp() < until) { }
        }

        private static string OneOf(string variable, string usual, string other)
        {
            string value = Environment.GetEnvironmentVariable(variable) ?? usual;
            if (value != usual && value != other)
                Fail.With(1, $"{variable} is \"{value}\": say {usual} or {other}");
            return value;
        }

        private static long WholeNumber(string variable)
        {
            string value = Environment.GetEnvironmentVariable(variable) ?? "0";
            if (!int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out int number))
                Fail.With(1, $"{variable} is \"{value}\": say a whole number from 0 to {int.MaxValue}");
            return number;
        }
    }
}
