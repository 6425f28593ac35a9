package ensemble

import (
	"archive/tar"
	"bytes"
	"context"

	"github.com/moby/moby/client"
)

// put writes files into a directory of the server's, by their names in it. The
// server may be stopped.
func (s *Server) put(ctx context.Context, dir string, files map[string]string) error {
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	_, err := s.e.docker.CopyToContainer(ctx, s.in(), client.CopyToContainerOptions{DestinationPath: dir, Content: &b})
	return err
}
