"""What the API server refuses beyond its OpenAPI, as code, in its words.

Source: k8s.io/kubernetes v1.36.3 and v1.34.4, pkg/apis/resource/validation and
pkg/apis/core/validation; limits from pkg/apis/resource/types.go.
"""
