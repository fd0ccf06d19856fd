{{- define "limpet.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "limpet.selector" -}}
app.kubernetes.io/name: limpet
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end }}

{{- define "limpet.labels" -}}
{{ include "limpet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "limpet.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "limpet.fullname" .) .Values.serviceAccount.name }}
{{- else }}{{ required "serviceAccount.name is required where serviceAccount.create is false" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "limpet.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- /* The names that the server's certificate has. */ -}}
{{- define "limpet.names" -}}
{{- $name := include "limpet.fullname" . }}
{{- $names := list (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) (printf "%s.%s" $name .Release.Namespace) }}
{{- concat $names .Values.tls.names | uniq | toJson }}
{{- end }}
