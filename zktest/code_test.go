package zktest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// constants returns the names of the constants of a file that begin with prefix.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if sel, ok := spec.Values[0].(*ast.SelectorExpr); ok {
			found[spec.Names[0].Name] = sel.Sel.Name
		}
		return true
	})
	return found
}

// A code that a reply may have and that nobody can name cannot be compared.
func TestEveryCodeIsExported(t *testing.T) {
	found := constants(t, "code.go", "Code")
	for name, inWire := range found {
		require.Equal(t, name, "Code"+inWire)
	}
	named := 0
	for c := zktest.Code(-999); c <= 0; c++ {
		if !strings.HasPrefix(c.String(), "code(") {
			named++
		}
	}
	require.Len(t, found, named)
}

// The names of operations are what the documentation of Op says.
func TestTheNamesOfOperations(t *testing.T) {
	for name, inWire := range constants(t, "op.go", "Op") {
		require.Equal(t, name, inWire)
		want := strings.ToLower(name[2:3]) + name[3:]
		switch name {
		case "OpSASL":
			want = "sasl"
		case "OpGetAllChildren":
			want = "getAllChildrenNumber"
		}
		_, ok := wire.OpNamed(want)
		require.True(t, ok, name)
	}
}

func TestRequestsTellTheCode(t *testing.T) {
	s := zktest.New(t)
	c := connectRaw(t, s.Addr())
	_, _, err := c.call(zktest.OpDelete, versioned("/none", -1))
	require.NoError(t, err)
	all := s.Requests()
	require.Equal(t, zktest.CodeNoNode, all[len(all)-1].Err)
	require.Equal(t, zktest.CodeOK, all[0].Err)
}
