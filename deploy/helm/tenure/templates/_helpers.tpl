{{- /* Used by `template`, so each stands at the indentation at which it is used. */ -}}

{{- define "tenure.labels" -}}
app.kubernetes.io/name: tenure, app.kubernetes.io/instance: {{ .Release.Name }}, app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}, app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "tenure.image" -}}
{{ required "set image.repository to the image of your app" .Values.image.repository }}:{{ required "set image.tag" .Values.image.tag }}
{{- end -}}

{{- define "tenure.pod" }}
      automountServiceAccountToken: false
      securityContext: {{ toJson .Values.podSecurityContext }}
      imagePullSecrets: {{ toJson .Values.imagePullSecrets }}
      volumes:
        - {name: tmp, emptyDir: {}}
{{- end -}}

{{- define "tenure.container" }}
          image: {{ template "tenure.image" . }}
          imagePullPolicy: {{ .Values.image.pullPolicy }}
          securityContext: {{ toJson .Values.containerSecurityContext }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
          envFrom: {{ toJson .Values.envFrom }}
{{- end -}}

{{- define "tenure.settings" }}
            {{- range $name, $value := .Values.settings }}
            - {name: TENURE_{{ upper $name }}, value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}}
            {{- end }}
            {{- range .Values.env }}
            - {{ toJson . }}
            {{- end }}
{{- end -}}
