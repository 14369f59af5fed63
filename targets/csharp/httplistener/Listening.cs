using System;
using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Threading;
using Feedbench;

/// <summary>
/// Starts an HttpListener although clients may be waiting for it. In this runtime its end point accepts before its own
/// constructor has ended, and fails with an ArgumentNullException when a connection comes in between. So that code is
/// compiled beforehand, on an address where nobody calls, and runs while the pool, which would take the connection, is kept
/// busy; an end point that found a connection at its very first look is made again.
/// </summary>
internal static class Listening
{
    private const string Elsewhere = "127.255.255.254";
    private const int MostAttempts = 20;

    public static HttpListener On(Arguments arguments)
    {
        try
        {
            var listener = new HttpListener();
            listener.Prefixes.Add($"http://{Elsewhere}:{arguments.Port}/");
            listener.Start();
            using (new TcpClient(Elsewhere, arguments.Port)) { }
            for (int attempt = 1; !IsAdded(listener, arguments, isLast: attempt == MostAttempts); attempt++)
                CloseWhatIsLost();
            return listener;
        }
        catch (Exception error) when (error is HttpListenerException || error is SocketException || error is ArgumentException)
        {
            Fail.CannotListen(arguments, error);
            throw;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool IsAdded(HttpListener listener, Arguments arguments, bool isLast)
    {
        try
        {
            WithoutPool(() => listener.Prefixes.Add($"http://{arguments.Authority}/"));
            return true;
        }
        catch (ArgumentNullException) when (!isLast)
        {
            return false;
        }
    }

    /// <summary>The failed end point's socket, which nothing refers to, holds the port until its finalizers have run.</summary>
    private static void CloseWhatIsLost()
    {
        for (int round = 0; round < 2; round++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }

    /// <summary>Runs the work while every thread of the pool waits for its end.</summary>
    private static void WithoutPool(Action work)
    {
        ThreadPool.GetMaxThreads(out int mostWorkers, out int mostForInput);
        int workers = Environment.ProcessorCount; // the pool takes no lower limit
        ThreadPool.SetMaxThreads(workers, mostForInput);
        using (var waiting = new CountdownEvent(workers))
        using (var left = new CountdownEvent(workers))
        using (var done = new ManualResetEventSlim())
        {
            for (int worker = 0; worker < workers; worker++)
            {
                ThreadPool.QueueUserWorkItem(nothing =>
                {
                    waiting.Signal();
                    done.Wait();
                    left.Signal();
                });
            }
            waiting.Wait();
            try
            {
                work();
            }
            finally
            {
                done.Set();
                left.Wait();
                ThreadPool.SetMaxThreads(mostWorkers, mostForInput);
            }
        }
    }
}
