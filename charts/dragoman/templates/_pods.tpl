{{- define "dragoman.image" -}}
{{- $image := .Values.image -}}
{{- $registry := default $image.registry .Values.global.imageRegistry -}}
{{- $name := ternary (printf "%s/%s" $registry $image.repository) $image.repository (ne $registry "") -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "dragoman.pullSecrets" -}}
{{- range concat (default list .Values.global.imagePullSecrets) (default list .Values.imagePullSecrets) }}
- name: {{ ternary . (get (ternary dict . (kindIs "string" .)) "name") (kindIs "string" .) | quote }}
{{- end }}
{{- end -}}

{{/* (list $ "component" map): the labels of pods; nothing replaces those by which they are selected. */}}
{{- define "dragoman.podLabels" -}}
{{- $root := index . 0 -}}
{{- merge (include "dragoman.selector" . | fromYaml) (default dict (index . 2)) (default dict $root.Values.commonLabels) | toYaml -}}
{{- end -}}

{{/* (dict "root" $ "component" … "values" …): what every pod of the chart has. */}}
{{- define "dragoman.podDefaults" -}}
serviceAccountName: {{ .serviceAccount | quote }}
automountServiceAccountToken: true
enableServiceLinks: false
{{- with include "dragoman.pullSecrets" .root }}
imagePullSecrets:
  {{- trim . | nindent 2 }}
{{- end }}
{{- with .values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ quote . }}
{{- end }}
{{- with .values.runtimeClassName }}
runtimeClassName: {{ quote . }}
{{- end }}
{{- with .values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "name" … "values" …): what every container of the chart has. */}}
{{- define "dragoman.containerDefaults" -}}
name: {{ .name }}
image: {{ include "dragoman.image" .root | quote }}
{{- with .root.Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- with .values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* (dict "root" $ "component" … "values" … "args" list "ports" map "readiness" map "volume" …): the
Deployment of a part. */}}
{{- define "dragoman.deployment" -}}
{{- $root := .root -}}
{{- $values := .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "dragoman.metadata" (dict "root" $root "component" .component "name" (include "dragoman.named" (list $root .component)) "annotations" $values.deploymentAnnotations) | nindent 2 }}
spec:
  replicas: {{ $values.replicas }}
  revisionHistoryLimit: {{ $values.revisionHistoryLimit }}
  {{- with $values.strategy }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "dragoman.selector" (list $root .component) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "dragoman.podLabels" (list $root .component $values.podLabels) | nindent 8 }}
      annotations:
        {{- merge (dict) (default dict $values.podAnnotations) (dict "kubectl.kubernetes.io/default-container" .component) | toYaml | nindent 8 }}
    spec:
      {{- include "dragoman.podDefaults" (dict "root" $root "values" $values "serviceAccount" (include "dragoman.serviceAccount" (list $root .component))) | nindent 6 }}
      {{- if $values.hostNetwork }}
      hostNetwork: true
      {{- end }}
      terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
      {{- if $values.topologySpread.enabled }}
      topologySpreadConstraints:
        {{- include "dragoman.topologySpread" . | nindent 8 }}
      {{- end }}
      containers:
      - {{ include "dragoman.containerDefaults" (dict "root" $root "name" .component "values" $values) | nindent 8 | trim }}
        args:
        {{- range concat .args (default list $values.extraArgs) }}
        - {{ quote . }}
        {{- end }}
        env:
        - name: POD_NAME
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        {{- with $values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        ports:
        {{- range $name, $port := .ports }}
        - name: {{ $name }}
          containerPort: {{ $port }}
          protocol: TCP
        {{- end }}
        startupProbe:
          httpGet: {path: /livez, port: health}
          {{- toYaml $values.startupProbe | nindent 10 }}
        livenessProbe:
          httpGet: {path: /livez, port: health}
          {{- toYaml $values.livenessProbe | nindent 10 }}
        readinessProbe:
          httpGet: {{ toJson .readiness }}
          {{- toYaml $values.readinessProbe | nindent 10 }}
        {{- with $values.preStopSeconds }}
        lifecycle:
          preStop: {sleep: {seconds: {{ . }}}}
        {{- end }}
        volumeMounts:
        - name: tmp
          mountPath: /tmp
        {{- with .mount }}
        - {{ toYaml . | nindent 10 | trim }}
        {{- end }}
        {{- with $values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.extraContainers }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      volumes:
      - name: tmp
        emptyDir: {sizeLimit: 64Mi}
      {{- with .volume }}
      - {{ toYaml . | nindent 8 | trim }}
      {{- end }}
      {{- with $values.extraVolumes }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
{{- end -}}

{{- define "dragoman.topologySpread" -}}
{{- if .values.topologySpread.constraints -}}
{{- toYaml .values.topologySpread.constraints -}}
{{- else -}}
{{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "dragoman.selector" (list $.root $.component) | nindent 6 }}
  # Only pods of one generation count, so that a rolling update does not upset the spread.
  matchLabelKeys: [pod-template-hash]
{{- end -}}
{{- end -}}
{{- end -}}

{{/* (list $ "component"): the ServiceAccount of a part; only pods that need a token mount one. */}}
{{- define "dragoman.serviceAccountObject" -}}
{{- $root := index . 0 -}}
{{- $account := (index $root.Values (index . 1)).serviceAccount -}}
{{- if $account.create -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "dragoman.metadata" (dict "root" $root "component" (index . 1) "name" (include "dragoman.serviceAccount" .) "annotations" $account.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}

{{- define "dragoman.podDisruptionBudget" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $values := index $root.Values $component -}}
{{- $budget := $values.podDisruptionBudget -}}
{{- if ternary (gt (int $values.replicas) 1) $budget.enabled (eq (toString $budget.enabled) "auto") -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "dragoman.metadata" (dict "root" $root "component" $component "name" (include "dragoman.named" .)) | nindent 2 }}
spec:
  {{- if not (kindIs "invalid" $budget.minAvailable) }}
  minAvailable: {{ $budget.minAvailable }}
  {{- else }}
  maxUnavailable: {{ ternary 1 $budget.maxUnavailable (kindIs "invalid" $budget.maxUnavailable) }}
  {{- end }}
  unhealthyPodEvictionPolicy: {{ $budget.unhealthyPodEvictionPolicy }}
  selector:
    matchLabels:
      {{- include "dragoman.selector" . | nindent 6 }}
{{- end -}}
{{- end -}}

{{/* (list $ "component"): where Prometheus finds the metrics of a part. */}}
{{- define "dragoman.metricsService" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- if $root.Values.monitoring.services -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "dragoman.metadata" (dict "root" $root "component" $component "name" (include "dragoman.named" (list $root (printf "%s-metrics" $component))) "labels" (dict "dragoman.dev/metrics" "true")) | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "dragoman.selector" . | nindent 4 }}
  ports:
  - name: metrics
    port: {{ (index $root.Values $component).ports.health }}
    targetPort: health
{{- end -}}
{{- end -}}

{{/* (dict "root" $ "name" … "account" … "args" list): a pod that does one thing and ends. It is placed
like the webhook's. */}}
{{- define "dragoman.oneShot" -}}
{{- $values := merge (dict "resources" (dict "requests" (dict "cpu" "50m" "memory" "96Mi") "limits" (dict "memory" "256Mi"))) .root.Values.webhook -}}
{{- include "dragoman.podDefaults" (dict "root" .root "values" $values "serviceAccount" .account) }}
restartPolicy: Never
containers:
- {{ include "dragoman.containerDefaults" (dict "root" .root "name" .name "values" $values) | nindent 2 | trim }}
  args:
  {{- range .args }}
  - {{ quote . }}
  {{- end }}
  {{- with .root.Values.webhook.extraEnv }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
  - name: tmp
    mountPath: /tmp
volumes:
- name: tmp
  emptyDir: {sizeLimit: 16Mi}
{{- end -}}
