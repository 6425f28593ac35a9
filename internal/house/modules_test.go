package house_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goModule is what its go.mod says of one module of the workspace.
type goModule struct {
	dir     string // relative to the root
	Module  struct{ Path string }
	Require []struct {
		Path     string
		Indirect bool
	}
	Replace []struct{ Old, New struct{ Path string } }
}

// command runs the go command in a directory of the root's, without the workspace.
func command(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join(root(t), dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "go %v: %s", args, stderr.String())
	return out
}

// modules are those that have a go.mod, the root first.
func modules(t *testing.T) (all []goModule) {
	t.Helper()
	top := root(t)
	require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" {
			return err
		}
		dir, err := filepath.Rel(top, filepath.Dir(path))
		if err != nil {
			return err
		}
		m := goModule{dir: filepath.ToSlash(dir)}
		require.NoError(t, json.Unmarshal(command(t, dir, "mod", "edit", "-json"), &m))
		all = append(all, m)
		return nil
	}))
	require.GreaterOrEqual(t, len(all), 2, "the root and integration")
	i := slices.IndexFunc(all, func(m goModule) bool { return m.dir == "." })
	require.GreaterOrEqual(t, i, 0)
	all[0], all[i] = all[i], all[0]
	return all
}

// `go test work`, and CI's loops, reach the modules that go.work names.
func TestEveryModuleIsInTheWorkspace(t *testing.T) {
	var work struct{ Use []struct{ DiskPath string } }
	require.NoError(t, json.Unmarshal(command(t, ".", "work", "edit", "-json", filepath.Join(root(t), "go.work")), &work))
	var used, want []string
	for _, u := range work.Use {
		used = append(used, filepath.ToSlash(filepath.Clean(u.DiskPath)))
	}
	for _, m := range modules(t) {
		want = append(want, m.dir)
		if m.dir == "." {
			require.Equal(t, module, m.Module.Path)
			require.Empty(t, m.Replace, "importers would not see it")
			continue
		}
		require.Equal(t, module+"/"+m.dir, m.Module.Path)
		for _, r := range m.Replace {
			if within(r.Old.Path, module) {
				at := filepath.ToSlash(filepath.Join(m.dir, r.New.Path))
				require.Equal(t, strings.TrimPrefix(strings.TrimPrefix(r.Old.Path, module), "/"), strings.TrimPrefix(at, "."), "%s replaces %s by %s", m.dir, r.Old.Path, r.New.Path)
			}
		}
	}
	require.ElementsMatch(t, want, used)
}

// Who imports the library has in its graph what the library needs, and nothing of
// what its containers' tests and its guards' drivers need.
func TestTheRootsGraphHasNothingOfTheOtherModules(t *testing.T) {
	all := modules(t)
	graph := make(map[string]bool)
	for line := range strings.Lines(string(command(t, ".", "list", "-m", "all"))) {
		path, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		graph[path] = true
	}
	require.True(t, graph["github.com/go-zookeeper/zk"])
	own := map[string]bool{module: true}
	for _, r := range all[0].Require {
		own[r.Path] = true
	}
	for _, m := range all[1:] {
		require.False(t, graph[m.Module.Path], "the root requires %s", m.Module.Path)
		for _, r := range m.Require {
			require.False(t, !r.Indirect && !own[r.Path] && graph[r.Path], "%s, of %s, is in the root's graph", r.Path, m.dir)
		}
	}
	for path := range graph {
		for _, heavy := range []string{"github.com/testcontainers", "github.com/moby", "github.com/docker", "github.com/anishathalye"} {
			require.False(t, within(path, heavy), "%s is in the root's graph", path)
		}
	}
}

// ofZooKeeper is the guard whose resource is ZooKeeper.
const ofZooKeeper = "fencing/znodefence"

// A guard with a driver of its own is a module, and still needs no ZooKeeper.
func TestGuardsTakeInNoZooKeeper(t *testing.T) {
	all := list(t, "-deps", "work")
	for _, p := range all {
		if !within(p.name(), "fencing") || !within(p.ImportPath, module) || p.name() == ofZooKeeper {
			continue
		}
		for _, dep := range closure(t, all, p) {
			require.False(t, withinAny(dep.ImportPath, dependencies), "%s takes in %s", p.name(), dep.ImportPath)
			require.True(t, !within(dep.ImportPath, module) || within(dep.name(), "fencing"), "%s takes in %s", p.name(), dep.ImportPath)
		}
	}
}
