// Package repeat proves that a seed repeats: the same scenarios run in several
// processes, with different numbers of processors, and every request, event and
// fault must come at the same instant in each. It holds tests only.
package repeat
