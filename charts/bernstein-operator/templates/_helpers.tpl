{{- define "bernstein.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "bernstein.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "bernstein.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "bernstein.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "bernstein.selector" -}}
app.kubernetes.io/name: {{ include "bernstein.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "bernstein.labels" -}}
{{ include "bernstein.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: bernstein
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "bernstein.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "bernstein.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Takes a dict of image and appVersion. */}}
{{- define "bernstein.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .appVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Where agents report to: the name of the Service. */}}
{{- define "bernstein.reports" -}}
{{- printf "%s-reports" (include "bernstein.fullname" . | trunc 55 | trimSuffix "-") -}}
{{- end -}}

{{/* What the operator may do, and nothing it never does: no Secrets, no wildcard. */}}
{{- define "bernstein.rules" -}}
- apiGroups: [bernstein.run]
  resources: [bernsteinruns, agenttasks, agentprofiles]
  verbs: [get, list, watch]
- apiGroups: [bernstein.run]
  resources: [agenttasks]
  verbs: [create, delete]
# Only for runs whose spec.ttl.deleteRun says so.
- apiGroups: [bernstein.run]
  resources: [bernsteinruns]
  verbs: [delete]
- apiGroups: [bernstein.run]
  resources: [bernsteinruns/status, agenttasks/status, agentprofiles/status]
  verbs: [patch]
# Only for clusters with the admission plugin OwnerReferencesPermissionEnforcement, which asks this of whoever
# makes an object that blocks its owner's deletion; the operator sets no finalizers.
- apiGroups: [bernstein.run]
  resources: [bernsteinruns/finalizers, agenttasks/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, patch, delete]
# Envelopes that are too long for an annotation; one that was left when its Pod was refused is replaced. And the
# abandonment ledger: it is read at the start, and its ConfigMaps are filled and then sealed.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list, create]
{{- end -}}

{{/* The newest API version that the cluster has MutatingAdmissionPolicy in; empty where there is to be none. */}}
{{- define "bernstein.actorPolicy" -}}
{{- if and .Values.policies.actor (not .Values.watchNamespaces) -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" -}}
admissionregistration.k8s.io/v1
{{- else if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1beta1/MutatingAdmissionPolicy" -}}
admissionregistration.k8s.io/v1beta1
{{- end -}}
{{- end -}}
{{- end -}}
