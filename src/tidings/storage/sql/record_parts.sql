-- The columns of records that several statements read, each said once: {name} stands for the part of that name.

-- part: execution_columns
e.id, e.workflow_id, w.name as workflow_name, e.version_id, v.number as version, v.total_steps, e.cursor, e.input, e.vars,
e.attempts, e.triggered_by, e.idempotency_key, e.contact_id, e.created_at, e.ended_at

-- part: execution_columns_in_queue
shown_status(e.status, q.stop, coalesce(e.started_at, q.started_at)) as status,
coalesce(e.started_at, q.started_at) as started_at, q.due_at, coalesce(q.leased, false) as leased, q.stop

-- part: version_and_workflow
-- Every execution has both. Joined from the left, as else a plan may come from a workflow to all of its executions.
left join workflow_versions v on v.id = e.version_id
  left join workflows w on w.id = e.workflow_id

-- part: whose_execution
-- For rows that are found by something else. Not `=`: no index of workspaces serves this, so that none is taken instead.
e.tenant_id is not distinct from :tenant and e.workspace_id is not distinct from :workspace

-- part: workflow_columns
w.id, w.name, w.description, w.active, w.created_at, w.updated_at, v.number as version, v.form, v.definition, v.channels

-- part: function_columns
name, url, secret is not null as has_secret, created_at, updated_at

-- part: key_columns
id, tenant_id as tenant, workspace_id as workspace, role, name, prefix, created_at, created_by, expires_at, last_used_at,
revoked_at, workflows, origins

-- part: audit_columns
id, workspace_id as workspace, subject_kind, subject_id, event, actor, detail, at

-- part: rest_columns
provider, paused_until as until, reason, since, times, refused as is_refused, rested_at, tried_at

-- part: sealed_table
functions

-- part: sealed_column
secret

-- part: sealed_name
name
