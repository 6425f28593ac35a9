package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source is one parsed file of the workspace's modules.
type source struct {
	pkg  goPackage
	name string // relative to the root
	test bool
	fset *token.FileSet
	ast  *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, p := range list(t, "work") {
		for _, f := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f), nil, parser.ParseComments|parser.SkipObjectResolution)
			require.NoError(t, err)
			all = append(all, source{p, filepath.Join(p.name(), f), strings.HasSuffix(f, "_test.go"), fset, file})
		}
	}
	return all
}

// imported returns the name under which the file knows the package path, or "".
func (s source) imported(path string) string {
	for _, spec := range s.ast.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != path {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path[strings.LastIndex(path, "/")+1:]
	}
	return ""
}

// uses calls found for every mention of path.name in n, with what encloses it,
// outermost first.
func (s source) uses(path, name string, found func(at token.Position, enclosing []ast.Node)) {
	local := s.imported(path)
	if local == "" {
		return
	}
	var enclosing []ast.Node
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if n == nil {
			enclosing = enclosing[:len(enclosing)-1]
			return true
		}
		if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == name {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				found(s.fset.Position(n.Pos()), slices.Clone(enclosing))
			}
		}
		enclosing = append(enclosing, n)
		return true
	})
}

func (s source) commented(line int) bool {
	for _, group := range s.ast.Comments {
		for _, c := range group.List {
			if end := s.fset.Position(c.End()).Line; end == line || end == line-1 {
				return true
			}
		}
	}
	return false
}

// A context that never ends is a wait that never ends: a package has one place at
// most where that is right, and says there why.
func TestBackgroundContextsAreRareAndExplained(t *testing.T) {
	places := make(map[string][]string)
	for _, s := range sources(t) {
		if s.test || s.pkg.Name == "main" {
			continue
		}
		for _, name := range []string{"Background", "TODO"} {
			s.uses("context", name, func(at token.Position, _ []ast.Node) {
				places[s.pkg.name()] = append(places[s.pkg.name()], s.name+":"+strconv.Itoa(at.Line))
				if !s.commented(at.Line) {
					t.Errorf("%s:%d: context.%s without a reason", s.name, at.Line, name)
				}
			})
		}
	}
	for pkg, at := range places {
		require.Len(t, at, 1, "package %s: %v", pkg, at)
	}
}

// A test that sleeps hopes for an order; in a bubble nothing happens meanwhile
// that the test has not made happen. Whether a line runs in a bubble cannot be
// seen in its text: its package must know one, and its file no real server.
func TestSleepsAreVirtual(t *testing.T) {
	all := sources(t)
	knowsABubble := make(map[string]bool)
	for _, s := range all {
		if s.imported("testing/synctest") != "" || s.imported(module+"/zktest/bubble") != "" {
			knowsABubble[s.pkg.name()] = true
		}
	}
	for _, s := range all {
		if !s.test || knowsABubble[s.pkg.name()] && !s.quotes("ZKFENCE_ZK") {
			continue
		}
		s.uses("time", "Sleep", func(at token.Position, _ []ast.Node) {
			t.Errorf("%s:%d: time.Sleep that is not virtual", s.name, at.Line)
		})
	}
}

// quotes reports whether the file has this string literal.
func (s source) quotes(text string) (found bool) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value == strconv.Quote(text) {
			found = true
		}
		return !found
	})
	return found
}

// A zk.Conn outlives its session without a word. Only internal/session keeps one;
// everybody else gets it as the argument of a function given to Call, for as long
// as that runs. integration/neighbour plays other people's clients, and those do.
func TestNobodyKeepsAConnection(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.pkg.Name == "main" || within(s.pkg.name(), "internal/session") || withinAny(s.pkg.name(), support) || s.pkg.name() == "integration/neighbour" {
			continue
		}
		s.uses("github.com/go-zookeeper/zk", "Conn", func(at token.Position, enclosing []ast.Node) {
			if !isParameter(enclosing) {
				t.Errorf("%s:%d: a zk.Conn that is no function's parameter", s.name, at.Line)
			}
		})
	}
}

// isParameter reports whether the innermost function type around a mention has
// it in its parameters.
func isParameter(enclosing []ast.Node) bool {
	for i := len(enclosing) - 1; i > 0; i-- {
		if f, ok := enclosing[i].(*ast.FuncType); ok {
			return i+1 < len(enclosing) && enclosing[i+1] == ast.Node(f.Params)
		}
	}
	return false
}

// Virtual time needs everything to be made inside the bubble that uses it.
func TestNoChannelsOrLocksAtPackageLevel(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			vars, ok := d.(*ast.GenDecl)
			if !ok || vars.Tok != token.VAR {
				continue
			}
			ast.Inspect(vars, func(n ast.Node) bool {
				at := s.fset.Position(vars.Pos())
				switch n := n.(type) {
				case *ast.FuncType, *ast.FuncLit:
					return false
				case *ast.ChanType:
					t.Errorf("%s:%d: a channel at package level", s.name, at.Line)
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
						t.Errorf("%s:%d: %s.%s at package level", s.name, at.Line, x.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
