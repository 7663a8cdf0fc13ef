"""Why a task stands where it stands: the operator's own rules, asked again and told in plain words."""
