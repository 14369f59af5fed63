using System;
using System.Net;
using System.Net.Sockets;
using System.Reflection;

/// <summary>
/// TCP_NODELAY for an accepted connection. HttpListener neither sets it nor shows its socket, so this reaches into the
/// runtime's private fields; the runtime is pinned, and another one that lacks them ends the program at its start.
/// </summary>
internal static class NoDelay
{
    private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;

    private static readonly PropertyInfo Connection = typeof(HttpListenerContext).GetProperty("Connection", Hidden);
    private static readonly FieldInfo Socket = Connection?.PropertyType.GetField("_socket", Hidden);

    public static bool CanBeSet => Socket != null;

    public static void On(HttpListenerContext context)
    {
        ((Socket)Socket.GetValue(Connection.GetValue(context))).NoDelay = true;
    }
}
