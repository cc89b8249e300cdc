package main

import (
	"context"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
)

// device is the API's own form, with the driver beside it.
type device struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

type features struct {
	ListAttributes     bool `json:"listAttributes"`
	ConsumableCapacity bool `json:"consumableCapacity"`
	NewExpressions     bool `json:"newExpressions"`
}

type compileFunc func(string, dracel.Options) dracel.CompilationResult

var compilers = map[dracel.Features]compileFunc{}

func compilerFor(wanted features) compileFunc {
	key := dracel.Features{
		EnableConsumableCapacity: wanted.ConsumableCapacity,
		EnableListTypeAttributes: wanted.ListAttributes,
	}
	if _, found := compilers[key]; !found {
		compilers[key] = dracel.GetCompiler(key).CompileCELExpression
	}
	return compilers[key]
}

func matchDevice(asked *request) answer {
	kind := environment.StoredExpressions
	if asked.Features.NewExpressions {
		kind = environment.NewExpressions
	}
	compiled := compilerFor(asked.Features)(asked.Expression, dracel.Options{EnvType: &kind})
	if compiled.Error != nil {
		return answer{"compile_error": compiled.Error.Detail}
	}
	reply := answer{"max_cost": compiled.MaxCost, "type": compiled.OutputType.String()}
	matches, details, err := compiled.DeviceMatches(context.Background(), asDevice(asked.Device))
	if details != nil && details.ActualCost() != nil {
		reply["actual_cost"] = *details.ActualCost()
	}
	if err != nil {
		reply["match_error"] = err.Error()
		return reply
	}
	reply["match"] = matches
	return reply
}

// measure compiles and matches every selector `times` times and answers nanoseconds for each.
func measure(asked *request) answer {
	compile := compilerFor(asked.Features)
	options := dracel.Options{DisableCostEstimation: false}
	input := asDevice(asked.Device)
	var compilations, matches []float64
	var results []bool
	for _, selector := range asked.Selectors {
		compiled := compile(selector, options)
		if compiled.Error != nil {
			return answer{"panic": compiled.Error.Detail}
		}
		compileTimes := max(asked.Times/100, 1)
		compilations = append(compilations, perCall(compileTimes, func() { compile(selector, options) }))
		matched, _, err := compiled.DeviceMatches(context.Background(), input)
		if err != nil {
			return answer{"panic": err.Error()}
		}
		results = append(results, matched)
		matches = append(matches, perCall(asked.Times, func() {
			_, _, _ = compiled.DeviceMatches(context.Background(), input)
		}))
	}
	return answer{"compile_ns": compilations, "match_ns": matches, "matches": results}
}

// perCall runs three rounds and answers the best one, in nanoseconds per call.
func perCall(times int, call func()) float64 {
	best := -1.0
	for range 3 {
		started := time.Now()
		for range times {
			call()
		}
		each := float64(time.Since(started).Nanoseconds()) / float64(times)
		if best < 0 || each < best {
			best = each
		}
	}
	return best
}
