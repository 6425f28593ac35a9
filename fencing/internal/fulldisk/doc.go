// Package fulldisk is for the tests of guards that write files.
package fulldisk
