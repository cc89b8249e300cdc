//go:build !kube138

package main

import (
	"context"
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

var unmarshal = utiljson.Unmarshal

func validateRules(asked *request) answer {
	structural, err := parseSchema(asked.Schema)
	if err != nil {
		return answer{"schema_error": err.Error()}
	}
	value, err := decodeValue(asked.Value)
	if err != nil {
		return answer{"schema_error": err.Error()}
	}
	old, err := decodeValue(asked.Old)
	if err != nil {
		return answer{"schema_error": err.Error()}
	}
	reply := answer{"errors": []any{}, "cost": int64(0), "max_costs": maxCosts(structural, asked.Root)}
	validator := schemacel.NewValidator(structural, asked.Root, celconfig.PerCallLimit)
	if validator == nil {
		return reply
	}
	root := field.NewPath(asked.Path)
	budget := int64(celconfig.RuntimeCELCostBudget)
	errors, remaining := validator.Validate(context.Background(), root, structural, value, old, budget)
	reply["cost"] = budget - remaining
	reply["errors"] = asFindings(errors)
	return reply
}

func parseSchema(raw json.RawMessage) (*schema.Structural, error) {
	var external apiextensionsv1.JSONSchemaProps
	if err := unmarshal(raw, &external); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil)
	if err != nil {
		return nil, err
	}
	return schema.NewStructural(&internal)
}

func asFindings(errors field.ErrorList) []answer {
	findings := []answer{}
	for _, found := range errors {
		findings = append(findings, answer{
			"type": string(found.Type), "field": found.Field, "detail": found.Detail,
		})
	}
	return findings
}

// maxCosts estimates the rules at the root of the schema; null for those that do not compile.
func maxCosts(structural *schema.Structural, root bool) []any {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	compiled, err := schemacel.Compile(
		structural, model.SchemaDeclType(structural, root), celconfig.PerCallLimit, base,
		schemacel.StoredExpressionsEnvLoader(),
	)
	costs := []any{}
	if err != nil {
		return costs
	}
	for _, rule := range compiled {
		if rule.Program == nil {
			costs = append(costs, nil)
		} else {
			costs = append(costs, rule.MaxCost)
		}
	}
	return costs
}

// decodeValue reads JSON the way the API server does: whole numbers become int64.
func decodeValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var value any
	err := unmarshal(raw, &value)
	return value, err
}
