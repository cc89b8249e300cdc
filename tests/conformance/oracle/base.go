package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

var baseEnv *celEnv

func evaluate(expression string) answer {
	if baseEnv == nil {
		baseEnv = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	}
	ast, issues := baseEnv.Compile(expression)
	if issues != nil {
		return answer{"compile_error": "compilation failed: " + issues.String()}
	}
	program, err := baseEnv.Program(ast, costTracking(&library.CostEstimator{}))
	if err != nil {
		return answer{"compile_error": "program instantiation failed: " + err.Error()}
	}
	reply := answer{"type": ast.OutputType().String()}
	value, details, err := program.Eval(map[string]any{})
	if details != nil && details.ActualCost() != nil {
		reply["actual_cost"] = *details.ActualCost()
	}
	if err != nil {
		reply["error"] = err.Error()
		return reply
	}
	reply["result"] = tagged(value)
	return reply
}

// tagged encodes a value so that its type survives JSON.
func tagged(value celValue) any {
	switch value := value.(type) {
	case celBool:
		return bool(value)
	case celNull:
		return nil
	case celInt:
		return answer{"int": int64(value)}
	case celUint:
		return answer{"uint": uint64(value)}
	case celDouble:
		return answer{"double": strconv.FormatFloat(float64(value), 'g', -1, 64)}
	case celString:
		return answer{"string": string(value)}
	case celBytes:
		return answer{"bytes": hex.EncodeToString(value)}
	case *celOptional:
		if !value.HasValue() {
			return answer{"optional": "none"}
		}
		return answer{"optional": tagged(value.GetValue())}
	case apiservercel.Quantity:
		return answer{"quantity": value.String()}
	case *apiservercel.Quantity:
		return answer{"quantity": value.String()}
	case apiservercel.Semver:
		return answer{"semver": value.String()}
	case celTimestamp:
		return answer{"repr": value.Format(time.RFC3339Nano), "type": value.Type().TypeName()}
	case celMapper:
		return taggedMap(value)
	case celLister:
		return taggedList(value)
	}
	return answer{"repr": fmt.Sprintf("%v", value.Value()), "type": value.Type().TypeName()}
}

func taggedList(list celLister) answer {
	items := []any{}
	for iterator := list.Iterator(); iterator.HasNext() == celTrue; {
		items = append(items, tagged(iterator.Next()))
	}
	return answer{"list": items}
}

func taggedMap(given celMapper) answer {
	entries := answer{}
	for iterator := given.Iterator(); iterator.HasNext() == celTrue; {
		key := iterator.Next()
		name := fmt.Sprintf("%s:%v", key.Type().TypeName(), key.Value())
		entries[name] = tagged(given.Get(key))
	}
	return answer{"map": entries}
}
