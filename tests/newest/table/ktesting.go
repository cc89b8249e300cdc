// Package ktesting has what Kubernetes' own table of the allocator needs of a module that is not published.
package ktesting

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

// TContext is a test and its context.
type TContext struct {
	context.Context
	t      *testing.T
	cancel context.CancelCauseFunc
}

// Assertion is a value that is compared.
type Assertion struct {
	actual []any
	t      *testing.T
}

// SetDefaultVerbosity does nothing: nothing is logged.
func SetDefaultVerbosity(int) {}

// Init returns the context of a test.
func Init(t *testing.T) TContext { return TContext{Context: context.Background(), t: t} }

// Run runs a part of the test.
func (c TContext) Run(name string, part func(TContext)) bool {
	return c.t.Run(name, func(t *testing.T) { part(TContext{Context: c.Context, t: t}) })
}

// Logf does nothing.
func (c TContext) Logf(string, ...any) {}

// Skipf skips the test.
func (c TContext) Skipf(format string, parts ...any) { c.t.Skipf(format, parts...) }

// Expect returns a value to compare.
func (c TContext) Expect(actual any, extra ...any) Assertion {
	return Assertion{append([]any{actual}, extra...), c.t}
}

// Require returns a value to compare.
func (c TContext) Require(actual any, extra ...any) Assertion { return c.Expect(actual, extra...) }

// ExpectNoError fails the test with an error.
func (c TContext) ExpectNoError(err error, _ ...any) { c.Expect(err).To(gomega.Succeed()) }

// To fails the test where a value does not match.
func (a Assertion) To(matcher types.GomegaMatcher, _ ...any) {
	gomega.NewWithT(a.t).Expect(a.actual[0], a.actual[1:]...).To(matcher)
}

// NotTo fails the test where a value matches.
func (a Assertion) NotTo(matcher types.GomegaMatcher, _ ...any) {
	gomega.NewWithT(a.t).Expect(a.actual[0], a.actual[1:]...).NotTo(matcher)
}

// WithTimeout returns a context that ends.
func (c TContext) WithTimeout(after time.Duration, _ string) TContext {
	ctx, _ := context.WithTimeout(c.Context, after)
	return TContext{Context: ctx, t: c.t}
}

// WithDeadline returns a context that ends.
func (c TContext) WithDeadline(at time.Time, _ string) TContext {
	ctx, _ := context.WithDeadline(c.Context, at)
	return TContext{Context: ctx, t: c.t}
}

// WithCancel returns a context that Cancel ends.
func (c TContext) WithCancel() TContext {
	ctx, cancel := context.WithCancelCause(c.Context)
	return TContext{Context: ctx, t: c.t, cancel: cancel}
}

// Cancel ends the context.
func (c TContext) Cancel(string) { c.cancel(nil) }
