{{/* Whether objects of monitoring.coreos.com/v1 are to be rendered: "true" or nothing. */}}
{{- define "dragoman.monitoring.renders" -}}
{{- $known := .Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}
{{- $mode := .Values.monitoring.renderMode -}}
{{- if and (eq $mode "failIfMissing") (not $known) -}}
{{- fail "\n\nmonitoring: the cluster does not know monitoring.coreos.com/v1: install the Prometheus operator first, or set monitoring.renderMode=skipIfMissing\n" -}}
{{- end -}}
{{- if or $known (eq $mode "alwaysRender") -}}true{{- end -}}
{{- end -}}

{{/* The kinds that were asked for and left out. */}}
{{- define "dragoman.monitoring.skipped" -}}
{{- $monitoring := .Values.monitoring -}}
{{- $asked := list -}}
{{- if $monitoring.serviceMonitor.enabled }}{{ $asked = append $asked "ServiceMonitor" }}{{ end -}}
{{- if $monitoring.podMonitor.enabled }}{{ $asked = append $asked "PodMonitor" }}{{ end -}}
{{- if $monitoring.prometheusRule.enabled }}{{ $asked = append $asked "PrometheusRule" }}{{ end -}}
{{- if and $asked (ne (include "dragoman.monitoring.renders" .) "true") -}}
{{- join ", " $asked -}}
{{- end -}}
{{- end -}}

{{/* The parts that are installed. */}}
{{- define "dragoman.components" -}}
{{- $found := list -}}
{{- range list "operator" "webhook" -}}
{{- if (index $.Values .).enabled }}{{ $found = append $found . }}{{ end -}}
{{- end -}}
{{- join "," $found -}}
{{- end -}}

{{/* (list $ settings): an endpoint of a ServiceMonitor or PodMonitor. */}}
{{- define "dragoman.monitoring.endpoint" -}}
{{- $settings := index . 1 -}}
path: /metrics
{{- range $key := list "honorLabels" "interval" "scrapeTimeout" "relabelings" "metricRelabelings" }}
{{- with index $settings $key }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}
