{{/* Name of every object: the release's, with the chart's in it. */}}
{{- define "fusegate.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels by which the pods are found; they never change. */}}
{{- define "fusegate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "fusegate.labels" -}}
{{ include "fusegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/*
A setting as a variable's text, as a file of settings has it. Helm reads a number of a file of values as a float,
which would become 5e+06.
*/}}
{{- define "fusegate.setting" -}}
{{- if kindIs "bool" . -}}
{{- ternary "yes" "no" . -}}
{{- else if kindIs "string" . -}}
{{- . -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{/* The pod, for both kinds of store. */}}
{{- define "fusegate.pod" -}}
metadata:
  labels:
    {{- include "fusegate.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "fusegate.name" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: fusegate
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      env:
        - name: HOST
          value: '0.0.0.0'
        - name: PORT
          value: '8080'
        - name: WORKERS
          value: {{ .Values.workers | quote }}
        {{- if .Values.metrics.enabled }}
        - name: METRICS_PORT
          value: {{ .Values.metrics.port | quote }}
        {{- end }}
        {{- with .Values.otlpEndpoint }}
        - name: OTEL_EXPORTER_OTLP_ENDPOINT
          value: {{ . | quote }}
        {{- end }}
        {{- if eq .Values.store.kind "postgres" }}
        {{- with .Values.store.postgres }}
        - name: STORE_URL
          valueFrom:
            secretKeyRef:
              name: {{ .secret }}
              key: {{ .storeUrlKey }}
        - name: MASTER_SECRET
          valueFrom:
            secretKeyRef:
              name: {{ .secret }}
              key: {{ .masterSecretKey }}
        - name: LOG_KEY
          valueFrom:
            secretKeyRef:
              name: {{ .secret }}
              key: {{ .logKeyKey }}
        {{- end }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: {{ $name }}
          value: {{ include "fusegate.setting" $value | quote }}
        {{- end }}
      {{- with .Values.settingsFrom }}
      envFrom:
        {{- range . }}
        - secretRef:
            name: {{ . }}
        {{- end }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8080
        {{- if .Values.metrics.enabled }}
        - name: metrics
          containerPort: {{ .Values.metrics.port }}
        {{- end }}
      # A large store takes a while to open.
      startupProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 2
        failureThreshold: 90
      livenessProbe:
        httpGet: { path: /health, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet: { path: /ready, port: http }
        periodSeconds: 5
        timeoutSeconds: 2
        failureThreshold: 2
      {{- if gt (int .Values.stopDelaySeconds) 0 }}
      # The image has no shell.
      lifecycle:
        preStop:
          exec:
            command:
              - /fusegate/bin/node
              - -e
              - setTimeout(() => {}, {{ mul (int .Values.stopDelaySeconds) 1000 }})
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /fusegate/data
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if eq .Values.store.kind "postgres" }}
    # Limits, previews and computed vectors are made again. The secrets come from the Secret.
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
