{{/* (dict "root" $ "component" … "name" … "account" … "rules" text "namespaced" bool "namespace" … "annotations"
map): a role and its binding to one ServiceAccount of the release's namespace. */}}
{{- define "dragoman.access" -}}
{{- $role := ternary "Role" "ClusterRole" (default false .namespaced) -}}
{{- $metadata := dict "root" .root "component" .component "name" .name "global" (not .namespaced) "namespace" (default "" .namespace) "annotations" (default dict .annotations) -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role }}
metadata:
  {{- include "dragoman.metadata" $metadata | nindent 2 }}
rules:
{{ trim .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role }}Binding
metadata:
  {{- include "dragoman.metadata" $metadata | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role }}
  name: {{ .name | quote }}
subjects:
- kind: ServiceAccount
  name: {{ .account | quote }}
  namespace: {{ include "dragoman.namespace" .root | quote }}
{{- end -}}

{{/* "true" where the operator looks how pods left. */}}
{{- define "dragoman.safeRelease" -}}
{{- and .Values.claims.safeRelease (ne .Values.claims.mode "off") -}}
{{- end -}}

{{/* "true" where the operator explains pods that wait for devices. */}}
{{- define "dragoman.explains" -}}
{{- kindIs "bool" .Values.explain.events | ternary .Values.explain.events (eq .Values.claims.mode "own") -}}
{{- end -}}
