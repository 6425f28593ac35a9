// Package turn lets the test binaries of this module start their ensembles one
// after the other, since go test runs several packages at once and a small machine
// cannot run several ensembles. It keeps nobody else from anything.
package turn
