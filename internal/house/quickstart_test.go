package house_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The test that a newcomer copies from the README, whole, or from zktest's package
// doc, without the imports, is one that runs with all others, and takes less than
// twenty lines.
func TestTheLostReplyIsPrintedAsItRuns(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(text)
	}
	file := read("examples/lostreply/lostreply_test.go")
	require.Contains(t, read("README.md"), "```go\n"+file+"```\n")

	at := strings.Index(file, "func TestLostReply")
	require.Positive(t, at)
	test := file[at:]
	require.Less(t, strings.Count(test, "\n"), 20)
	var comment strings.Builder
	for line := range strings.Lines(test) {
		if line != "\n" {
			line = "\t" + line
		}
		comment.WriteString("//" + line)
	}
	require.Contains(t, read("zktest/doc.go"), "//\n"+comment.String()+"//\n")
}
