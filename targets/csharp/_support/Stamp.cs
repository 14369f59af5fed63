using System;
using System.Text.Json;

namespace Feedbench
{
    /// <summary>The stamp model's messages.</summary>
    public static class Stamp
    {
        public static string Of(long count)
        {
            return $"{{\"c\":{count},\"ts\":{DateTimeOffset.UtcNow.ToUnixTimeSeconds()}}}";
        }

        /// <summary>The answer to {"c":n}; null for anything else.</summary>
        public static string Answer(ReadOnlyMemory<byte> message)
        {
            try
            {
                using (JsonDocument document = JsonDocument.Parse(message))
                {
                    JsonElement request = document.RootElement;
                    return request.ValueKind == JsonValueKind.Object
                        && request.TryGetProperty("c", out JsonElement count)
                        && count.ValueKind == JsonValueKind.Number
                        && count.TryGetInt64(out long number)
                        ? Of(number)
                        : null;
                }
            }
            catch (JsonException)
            {
                return null;
            }
        }
    }
}
