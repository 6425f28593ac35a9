package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/bench/internal/figures"
)

// bare is what a benchmark calls the write without a guard; its siblings are the
// same write with one.
const bare = "Bare"

// A row is a write and a way to guard it.
type row struct {
	write, how  string
	bare, ratio []float64 // a round each
}

// A comparison has its rows in the order in which they were first printed.
type comparison struct{ rows []*row }

var (
	inPackage = regexp.MustCompile(`^pkg: (\S+)$`)
	measured  = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`)
)

// add takes in what go test has printed for one round. Of what it has measured more
// than once the last counts.
func (c *comparison) add(printed []byte) error {
	type guarded struct{ write, how string }
	var order []guarded
	took, bares := map[guarded]float64{}, map[string]float64{}
	in := ""
	for lines := bufio.NewScanner(bytes.NewReader(printed)); lines.Scan(); {
		if m := inPackage.FindStringSubmatch(lines.Text()); m != nil {
			in = m[1][strings.LastIndex(m[1], "fencing/")+len("fencing/"):]
			continue
		}
		m := measured.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		group, how := path.Split(m[1])
		write := in + ", " + strings.Trim(group, "/")
		if how == bare {
			bares[write] = ns
			continue
		}
		this := guarded{write, how}
		if _, again := took[this]; !again {
			order = append(order, this)
		}
		took[this] = ns
	}
	for _, f := range order {
		without, ok := bares[f.write]
		if !ok {
			continue // compares something else
		}
		r := c.row(f.write, f.how)
		r.bare = append(r.bare, without)
		r.ratio = append(r.ratio, took[f]/without)
	}
	return nil
}

func (c *comparison) row(write, how string) *row {
	for _, r := range c.rows {
		if r.write == write && r.how == how {
			return r
		}
	}
	r := &row{write: write, how: how}
	c.rows = append(c.rows, r)
	return r
}

func (c *comparison) print(out io.Writer, rounds int, each string) {
	_, _ = fmt.Fprintf(out, "medians of %d rounds of %s\n\n| write | without a guard | with it | ÷ without |\n|---|---|---|---|\n", rounds, each)
	for _, r := range c.rows {
		without := time.Duration(figures.Median(r.bare)).Round(time.Microsecond)
		_, _ = fmt.Fprintf(out, "| %s | %v | %s | %.2f |\n", r.write, without, r.how, figures.Median(r.ratio))
	}
}
