// Package house has no code of its own. Its tests look at the whole workspace and
// keep what no single package can keep for itself: which way imports run, what a
// program takes in when it links a package, and the few rules about contexts,
// sleeps and connections that a linter cannot judge.
//
// It judges the text of these modules and nothing that happens when it runs: that
// a rule holds here proves no behaviour.
package house
