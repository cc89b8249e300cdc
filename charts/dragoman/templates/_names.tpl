{{- define "dragoman.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dragoman.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The beginning of all names: the release's name, and the chart's where that does not say it. */}}
{{- define "dragoman.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* (list $ "suffix"): the beginning and a suffix, at most 63 characters; what is cut is never the
suffix, by which the objects of one release differ. */}}
{{- define "dragoman.named" -}}
{{- $root := index . 0 -}}
{{- $suffix := index . 1 -}}
{{- $room := int (sub 62 (len $suffix)) -}}
{{- printf "%s-%s" (include "dragoman.fullname" $root | trunc $room | trimSuffix "-") $suffix -}}
{{- end -}}

{{- define "dragoman.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* (list $ "component"): what selectors may hold, since it never changes. Names are quoted wherever
they stand alone: YAML takes a release called `on` or a namespace called `2024` for no text. */}}
{{- define "dragoman.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "dragoman.name" $root | quote }}
app.kubernetes.io/instance: {{ $root.Release.Name | quote }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* (list $ "component"): the labels of objects; those of commonLabels never replace them. */}}
{{- define "dragoman.labels" -}}
{{- $root := index . 0 -}}
{{- $own := include "dragoman.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" ($root.Chart.AppVersion | replace "+" "_" | trunc 63) -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/part-of" $root.Chart.Name -}}
{{- $_ := set $own "helm.sh/chart" (include "dragoman.chart" $root) -}}
{{- merge $own (default dict $root.Values.commonLabels) | toYaml -}}
{{- end -}}

{{/* (dict "root" $ "name" … "component" … "global" bool "labels" map "annotations" map): metadata. */}}
{{- define "dragoman.metadata" -}}
name: {{ .name | quote }}
{{- if not .global }}
namespace: {{ default (include "dragoman.namespace" .root) .namespace | quote }}
{{- end }}
labels:
  {{- merge (include "dragoman.labels" (list .root .component) | fromYaml) (default dict .labels) | toYaml | nindent 2 }}
{{- with merge (dict) (default dict .annotations) (default dict .root.Values.commonAnnotations) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (list $ "operator"|"webhook") */}}
{{- define "dragoman.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $account := (index $root.Values $component).serviceAccount -}}
{{- if $account.create -}}
{{- default (include "dragoman.named" .) $account.name -}}
{{- else -}}
{{- default "default" $account.name -}}
{{- end -}}
{{- end -}}

{{- define "dragoman.webhook.secret" -}}
{{- if eq .Values.webhook.tls.mode "secret" -}}
{{- .Values.webhook.tls.secret.name -}}
{{- else -}}
{{- include "dragoman.named" (list . "webhook-tls") -}}
{{- end -}}
{{- end -}}

{{/* By what the API server calls: the Service's name, or the URL's host. */}}
{{- define "dragoman.webhook.hosts" -}}
{{- if .Values.webhook.url -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse .Values.webhook.url).host "" | trimPrefix "[" | trimSuffix "]" -}}
{{- else -}}
{{- printf "%s.%s.svc" (include "dragoman.named" (list . "webhook")) (include "dragoman.namespace" .) -}}
{{- end -}}
{{- end -}}

{{/* The values of the catalog as JSON: those of its former spelling `catalogue` replace those of `catalog`. */}}
{{- define "dragoman.catalog" -}}
{{- mergeOverwrite (deepCopy .Values.catalog) (default dict .Values.catalogue) | toJson -}}
{{- end -}}
