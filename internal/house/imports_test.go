package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/zkfence/zkfence"

// What a program may have to take in together with the library.
var dependencies = []string{"github.com/go-zookeeper/zk", "go.uber.org/zap", "go.uber.org/multierr"}

// goPackage is what go list says of one package.
type goPackage struct {
	Dir, ImportPath, Name string
	Standard              bool
	GoFiles               []string
	Imports               []string
	TestGoFiles           []string
	XTestGoFiles          []string
}

// name is the import path within the module.
func (p goPackage) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// root is the module's directory. It opens every directory of it: go test caches
// results by what the test itself has opened, and knows nothing of what go list
// reads, so that a package added later would go unseen.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != dir && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		return err
	}))
	return dir
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=Dir,ImportPath,Name,Standard,GoFiles,Imports,TestGoFiles,XTestGoFiles"}, args...)...)
	cmd.Dir = root(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go list %v: %s", args, stderr.String())
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

// closure returns what linking p takes in, p included.
func closure(t *testing.T, all []goPackage, p goPackage) []goPackage {
	t.Helper()
	byPath := make(map[string]goPackage, len(all))
	for _, q := range all {
		byPath[q.ImportPath] = q
	}
	taken := map[string]bool{p.ImportPath: true}
	found := []goPackage{p}
	for i := 0; i < len(found); i++ {
		for _, path := range found[i].Imports {
			// The standard library imports what is vendored in it by a short name.
			q, ok := byPath[path]
			if path == "C" || taken[path] || !ok && found[i].Standard {
				continue
			}
			require.True(t, ok, "%s imports %s, which go list did not mention", found[i].ImportPath, path)
			taken[path] = true
			found = append(found, q)
		}
	}
	return found
}

func within(path, tree string) bool { return path == tree || strings.HasPrefix(path, tree+"/") }

func withinAny(path string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(path, tree) })
}

// libraries are the packages that other people's programs link, each with what
// it takes in.
func libraries(t *testing.T) map[string][]goPackage {
	t.Helper()
	all := list(t, "-deps", "./...")
	linked := make(map[string][]goPackage)
	for _, p := range all {
		if within(p.ImportPath, module) && p.Name != "main" && len(p.GoFiles) > 0 {
			linked[p.name()] = closure(t, all, p)
		}
	}
	for _, name := range []string{"fencing", "internal/session", "internal/queue", "internal/wire", "zkconn", "zklock", "election", "zktest", "zktest/bubble"} {
		require.Contains(t, linked, name, "package %s is missing", name)
	}
	return linked
}

// support are the packages that tests alone link.
var support = []string{"zktest/bubble", "internal/stage"}

func TestLinking(t *testing.T) {
	for name, deps := range libraries(t) {
		if withinAny(name, support) {
			continue
		}
		for _, dep := range deps {
			if dep.Standard || within(dep.ImportPath, module) {
				continue
			}
			require.True(t, withinAny(dep.ImportPath, dependencies), "%s takes in %s", name, dep.ImportPath)
		}
	}
}

// A resource written by another team enforces tokens without ZooKeeper.
func TestFencingNeedsTheStandardLibraryAlone(t *testing.T) {
	for name, deps := range libraries(t) {
		if !within(name, "fencing") || name == ofZooKeeper {
			continue
		}
		for _, dep := range deps {
			require.True(t, dep.Standard || within(dep.name(), "fencing"), "%s takes in %s", name, dep.ImportPath)
		}
	}
}

// Package testing puts its flags into every program that links it.
func TestOnlyWhatIsForTestsImportsTesting(t *testing.T) {
	for name, deps := range libraries(t) {
		if withinAny(name, support) {
			continue
		}
		for _, dep := range deps {
			require.NotEqual(t, "testing", dep.ImportPath, "%s takes it in", name)
			require.False(t, withinAny(dep.name(), support), "%s takes in %s", name, dep.name())
		}
	}
}

// The house from top to bottom: a package imports floors below its own. What is
// on no list yet fails, so that whoever adds a package says where it stands.
var floors = [][]string{
	{"examples", "internal/bench", "internal/repeat", "integration/story", "integration/neighbour"},
	{"integration/worker"},
	{"integration/resource"},
	{"integration/history"},
	{"integration/internal/lend"},
	{"integration/ensemble", "integration/internal/turn"},
	{ofZooKeeper},
	{"election"},
	{"zklock"},
	{"internal/queue"},
	{"internal/stage"},
	{"zkconn"},
	{"internal/session"},
	{"zktest/bubble"},
	{"zktest/proxy"},
	{"zktest"},
	{"fencing", "internal/wire", "internal/house"},
}

func floor(name string) int {
	return slices.IndexFunc(floors, func(trees []string) bool { return withinAny(name, trees) })
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range list(t, "work") {
		require.NotEqual(t, -1, floor(p.name()), "package %s stands on no floor", p.name())
		for _, path := range p.Imports {
			if !within(path, module) {
				continue
			}
			below := strings.TrimPrefix(path, module+"/")
			sameTree := func(tree string) bool { return within(below, tree) && within(p.name(), tree) }
			require.True(t, floor(below) > floor(p.name()) || slices.ContainsFunc(floors[floor(p.name())], sameTree), "%s imports %s", p.name(), below)
		}
	}

	// Tests run on zktest; programs never do, so the library must not need it.
	for name, deps := range libraries(t) {
		if within(name, "zktest") || withinAny(name, support) {
			continue
		}
		for _, dep := range deps {
			require.False(t, within(dep.name(), "zktest"), "%s takes in %s", name, dep.name())
		}
	}
}
