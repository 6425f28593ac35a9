// Package zerotest is for the tests of guards: what no constructor has made answers,
// and does not panic.
package zerotest

import (
	"context"
	"reflect"
	"strings"

	"github.com/zkfence/zkfence/fencing"
)

// TB is what it needs of a test; a *testing.T has it.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
}

// Refuses calls every method of guard with arguments that are in order, and wants
// each to answer with an error whose text has want. extra are arguments of the
// guard's own types. A method that is added later is called as well.
func Refuses(t TB, guard any, want string, extra ...any) {
	t.Helper()
	v := reflect.ValueOf(guard)
	for i := range v.NumMethod() {
		name := v.Type().Method(i).Name
		if err := call(t, name, v.Method(i), extra); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of %#v: got %v, want an error with %q", name, guard, err, want)
		}
	}
}

// call returns the error that is the method's last result.
func call(t TB, name string, method reflect.Value, extra []any) (err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v", name, p)
		}
	}()
	args := make([]reflect.Value, 0, method.Type().NumIn())
	for i := range method.Type().NumIn() {
		if method.Type().IsVariadic() && i == method.Type().NumIn()-1 {
			break
		}
		args = append(args, argument(t, method.Type().In(i), extra))
	}
	results := method.Call(args)
	if len(results) > 0 {
		err, _ = results[len(results)-1].Interface().(error)
	}
	return err
}

func argument(t TB, of reflect.Type, extra []any) reflect.Value {
	one, err := fencing.FromUint64(1)
	if err != nil {
		panic(err) // a mistake in this package
	}
	known := append([]any{t.Context(), "r", one, fencing.Stamp{Token: one, Seq: 1}}, extra...)
	for _, a := range known {
		if v := reflect.ValueOf(a); v.Type().AssignableTo(of) {
			return v
		}
	}
	if of.Kind() == reflect.Func { // what a guard that was made would call
		return reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { panic("the guard calls the command") })
	}
	return reflect.Zero(of)
}
