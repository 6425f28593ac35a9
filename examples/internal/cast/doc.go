// Package cast is what examples with several processes stand on: a program that
// starts itself again in other roles, the lines in which the processes talk, a
// pause at the worst moment, and the timeline in which it is all told.
//
// It is for the examples alone, and promises nothing to anybody else.
package cast
