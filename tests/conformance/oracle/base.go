package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

var baseEnv *cel.Env

func evaluate(expression string) answer {
	if baseEnv == nil {
		baseEnv = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	}
	ast, issues := baseEnv.Compile(expression)
	if issues != nil {
		return answer{"compile_error": "compilation failed: " + issues.String()}
	}
	program, err := baseEnv.Program(ast, cel.CostTracking(&library.CostEstimator{}))
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
func tagged(value ref.Val) any {
	switch value := value.(type) {
	case types.Bool:
		return bool(value)
	case types.Null:
		return nil
	case types.Int:
		return answer{"int": int64(value)}
	case types.Uint:
		return answer{"uint": uint64(value)}
	case types.Double:
		return answer{"double": strconv.FormatFloat(float64(value), 'g', -1, 64)}
	case types.String:
		return answer{"string": string(value)}
	case types.Bytes:
		return answer{"bytes": hex.EncodeToString(value)}
	case *types.Optional:
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
	case types.Timestamp:
		return answer{"repr": value.Format(time.RFC3339Nano), "type": value.Type().TypeName()}
	case traits.Mapper:
		return taggedMap(value)
	case traits.Lister:
		return taggedList(value)
	}
	return answer{"repr": fmt.Sprintf("%v", value.Value()), "type": value.Type().TypeName()}
}

func taggedList(list traits.Lister) answer {
	items := []any{}
	for iterator := list.Iterator(); iterator.HasNext() == types.True; {
		items = append(items, tagged(iterator.Next()))
	}
	return answer{"list": items}
}

func taggedMap(given traits.Mapper) answer {
	entries := answer{}
	for iterator := given.Iterator(); iterator.HasNext() == types.True; {
		key := iterator.Next()
		name := fmt.Sprintf("%s:%v", key.Type().TypeName(), key.Value())
		entries[name] = tagged(given.Get(key))
	}
	return answer{"map": entries}
}
