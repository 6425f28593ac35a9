package house_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// Every name in the README's tables of faults and limits is one that zktest exports.
func TestTheReadmesFaultsExist(t *testing.T) {
	exported := make(map[string]bool)
	for _, s := range sources(t) {
		if s.test || s.pkg.name() != "zktest" {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				exported[d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						exported[spec.Name.Name] = true
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							exported[name.Name] = true
						}
					}
				}
			}
		}
	}
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "\n## zktest")
	require.True(t, found)
	section, _, _ := strings.Cut(rest, "\n## ")
	names := regexp.MustCompile("`(?:zktest\\.)?([A-Z]\\w*)(?:\\(.*?\\))?`").FindAllStringSubmatch(section, -1)
	require.Greater(t, len(names), 30)
	for _, name := range names {
		require.True(t, exported[name[1]], "zktest has no %s", name[1])
	}
}

// The README's guards are those that there are, and whoever wants one that is a
// module of its own is told how to get it.
func TestTheReadmesGuardsAreAllThereAre(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "\n## Guards\n")
	require.True(t, found)
	section, _, _ := strings.Cut(rest, "\n## ")
	var linked, want []string
	for _, link := range regexp.MustCompile(`\]\(([^)#]*)/doc\.go\)`).FindAllStringSubmatch(section, -1) {
		if !slices.Contains(linked, link[1]) {
			linked = append(linked, link[1])
		}
	}
	for _, p := range list(t, "work") {
		// A dialect is of its guard's row.
		if within(p.name(), "fencing") && !within(p.name(), "fencing/internal") && slices.Contains(p.GoFiles, "doc.go") {
			want = append(want, p.name())
		}
	}
	require.ElementsMatch(t, want, linked)
	for _, m := range modules(t) {
		if within(m.dir, "fencing") {
			require.Contains(t, section, "\n    go get "+m.Module.Path+" ")
		}
	}
}
