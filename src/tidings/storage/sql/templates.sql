-- part: template_columns
t.id, t.name, t.kind, v.format, v.text, t.description, v.number as version, t.created_at, t.updated_at

-- part: newest_version
join template_versions v on v.template_id = t.id
   and v.number = (select max(n.number) from template_versions n where n.template_id = t.id)

-- name: insert_template
-- Makes a template unless its name is taken.
insert into templates (id, tenant_id, workspace_id, name, kind, description, created_at, updated_at)
values (:id, :tenant, :workspace, :name, :kind, :description, :now, :now)
    on conflict (tenant_id, workspace_id, name) where deleted_at is null do nothing;

-- name: lock_template
-- Locks one template for the transaction that changes it.
select id, name, kind, description
  from templates
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null and (id = :id::uuid or name = :name::text)
   for update;

-- name: latest_template_version
-- The newest version of a template.
select number, format, text, created_by, created_at
  from template_versions
 where template_id = :template_id
 order by number desc
 limit 1;

-- name: insert_template_version
-- Freezes what a template says.
insert into template_versions (template_id, number, tenant_id, workspace_id, format, text, renders, created_by, created_at)
values (:template_id, :number, :tenant, :workspace, :format, :text, :renders::text[], :created_by, :now);

-- name: describe_template
-- Says that a template was changed, and in its author's words what it is.
update templates set description = coalesce(:description, description), updated_at = :now where id = :id;

-- name: show_template
-- A template with its newest version, by id or by name.
select {template_columns}
  from templates t
  {newest_version}
 where t.tenant_id = :tenant and t.workspace_id = :workspace and t.deleted_at is null
   and (t.id = :id::uuid or t.name = :name::text);

-- name: list_templates
-- The templates of a workspace with their newest versions, newest template first.
select {template_columns}
  from templates t
  {newest_version}
 where t.tenant_id = :tenant and t.workspace_id = :workspace and t.deleted_at is null
   and (:kind::text is null or t.kind = :kind)
   and t.id >= :since and t.id < :before
 order by t.id desc
 limit :limit;

-- name: list_template_versions
-- Every version of a template, newest first.
select number, format, text, created_by, created_at
  from template_versions
 where template_id = :template_id and tenant_id = :tenant and workspace_id = :workspace
 order by number desc;

-- name: find_newest_templates
-- The newest versions of templates, by their names.
select t.name, v.number as version, v.text, t.kind, v.format
  from templates t
  {newest_version}
 where t.tenant_id = :tenant and t.workspace_id = :workspace and t.deleted_at is null and t.name = any(:names::text[]);

-- name: list_template_names
-- What the templates of a workspace are called.
select name from templates
 where tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
 order by name
 limit :limit;

-- name: list_template_users
-- What keeps a version of a template: the newest version of each workflow and sequence, and each rule.
select w.kind, w.id, w.name, (v.definition #>> array['templates', :name, 'version'])::integer as version
  from workflows w
  join workflow_versions v on v.workflow_id = w.id
   and v.number = (select max(n.number) from workflow_versions n where n.workflow_id = w.id)
 where w.tenant_id = :tenant and w.workspace_id = :workspace and w.deleted_at is null
   and v.definition -> 'templates' ? :name
 union all
select 'rule', r.id, r.trigger || '/' || r.channel || '/' || r.audience,
       (r.templates #>> array[:name, 'version'])::integer
  from rules r
 where r.tenant_id = :tenant and r.workspace_id = :workspace and r.templates ? :name
 order by 1, 3;

-- name: list_drafts_with_words
-- The sequences whose drafts have steps with one of these words in them, wherever that is.
select w.id, w.name, s.subject, s.content, s."to"
  from sequence_steps s
  join workflows w on w.id = s.sequence_id
 where s.tenant_id = :tenant and s.workspace_id = :workspace and w.deleted_at is null
   and exists (select 1 from unnest(:words::text[]) as t(word) where strpos(concat_ws(' ', s.subject, s.content::text, s."to"::text), t.word) > 0)
 order by w.name, s.step_order;

-- name: list_rendering_templates
-- The templates whose newest versions render one of these.
select t.id, t.name
  from templates t
  {newest_version}
 where t.tenant_id = :tenant and t.workspace_id = :workspace and t.deleted_at is null and v.renders && :names::text[]
 order by t.name;

-- name: list_campaigns_with_words
-- The campaigns whose content has one of these words in it, wherever that is.
select c.id, c.name, c.content
  from campaigns c
 where c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and exists (select 1 from unnest(:words::text[]) as w(word) where strpos(c.content::text, w.word) > 0)
 order by c.name;

-- name: delete_template
-- Hides a template for ever and frees its name; what was published with it keeps its copy.
update templates set deleted_at = :now, updated_at = :now
 where id = :id and tenant_id = :tenant and workspace_id = :workspace and deleted_at is null
returning id;
