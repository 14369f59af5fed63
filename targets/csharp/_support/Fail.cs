using System;

namespace Feedbench
{
    public static class Fail
    {
        /// <summary>One line on stderr, and the end of the program.</summary>
        public static void With(int status, string line)
        {
            Console.Error.WriteLine(line);
            Environment.Exit(status);
        }

        public static void CannotListen(Arguments arguments, Exception error)
        {
            With(1, $"cannot listen on {arguments.Authority}: {error.Message}");
        }
    }
}
