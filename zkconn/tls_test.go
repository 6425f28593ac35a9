package zkconn_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func tlsServer(t *testing.T, cert tls.Certificate) *zktest.Server {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return zktest.New(t, zktest.WithListener(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}})))
}

func TestTLSIsLaidOverTheConnection(t *testing.T) {
	cert, pool := certificate(t)
	server := tlsServer(t, cert)
	c, err := zkconn.Dial(t.Context(), []string{server.Addr()}, zkconn.WithTLS(&tls.Config{RootCAs: pool}), zkconn.WithSessionTimeout(5*time.Second))
	require.NoError(t, err)
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	_, err = zkconn.Call(t.Context(), s, func(c *zk.Conn) (string, error) { return c.Create("/over-tls", nil, 0, zk.WorldACL(zk.PermAll)) })
	require.NoError(t, err)
	require.True(t, server.Exists("/over-tls"))
	server.Cut()
	require.Eventually(t, func() bool {
		_, err := zkconn.Call(t.Context(), s, func(c *zk.Conn) (bool, error) { ok, _, err := c.Exists("/"); return ok, err })
		return err == nil
	}, 5*time.Second, 10*time.Millisecond, "TLS again on the next connection")
	require.NoError(t, c.Close(t.Context()))
	require.Empty(t, server.Sessions())
}

// A name that the certificate does not bear is refused, and Dial says so.
func TestTLSChecksTheServersName(t *testing.T) {
	cert, _ := certificate(t)
	server := tlsServer(t, cert)
	// Dial tries until then, and says what its last try has met: one handshake must fit
	// in, under the race detector and on a busy machine.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := zkconn.Dial(ctx, []string{server.Addr()}, zkconn.WithTLS(&tls.Config{RootCAs: x509.NewCertPool()}))
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	require.Empty(t, server.Sessions())
}
