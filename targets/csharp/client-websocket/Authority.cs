using System;
using System.Linq;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Feedbench;

/// <summary>Who alone is trusted for wss; this runtime can't be told so by a file.</summary>
internal sealed class Authority
{
    private readonly X509Certificate2 certificate;

    public Authority(string path)
    {
        try
        {
            certificate = new X509Certificate2(path);
        }
        catch (CryptographicException error)
        {
            Fail.With(1, $"cannot use FEEDBENCH_CA_FILE {path}: {error.Message}");
        }
    }

    public bool VouchesFor(object sender, X509Certificate presented, X509Chain chain, SslPolicyErrors errors)
    {
        if ((errors & ~SslPolicyErrors.RemoteCertificateChainErrors) != SslPolicyErrors.None)
            return false; // another name, or none at all
        chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
        chain.ChainPolicy.VerificationFlags = X509VerificationFlags.AllowUnknownCertificateAuthority;
        chain.ChainPolicy.ExtraStore.Add(certificate);
        return chain.Build(new X509Certificate2(presented))
            && chain.ChainElements[chain.ChainElements.Count - 1].Certificate.RawData.SequenceEqual(certificate.RawData);
    }
}
