package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the stories' package lists is what there is, and what .ci/run requires to have
// passed: a story that is renamed or taken out is so in both, by hand.
func TestEveryStoryThatIsListedExists(t *testing.T) {
	dir := filepath.Join(root(t), "integration", "story")
	told := make(map[string]bool)
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go")) // those for other systems too
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(t `).FindAllStringSubmatch(string(text), -1) {
			told[name[1]] = true
		}
	}
	doc, err := os.ReadFile(filepath.Join(dir, "doc.go"))
	require.NoError(t, err)
	listed := regexp.MustCompile(`(?m)^//\t.* (Test[A-Za-z0-9]+)$`).FindAllStringSubmatch(string(doc), -1) // as .ci/run reads it
	require.Len(t, listed, strings.Count(string(doc), "Test"), "a line of the table ends with one name")
	require.Greater(t, len(listed), 30)
	once := make(map[string]bool)
	for _, name := range listed {
		require.True(t, told[name[1]], "integration/story/doc.go lists %s, which is no test there", name[1])
		require.False(t, once[name[1]], "integration/story/doc.go lists %s twice", name[1])
		once[name[1]] = true
	}
}
