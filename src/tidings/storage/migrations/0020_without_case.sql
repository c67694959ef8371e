-- Tags and companies compare without case, and sequences count their steps.

-- Companies compare without case.
drop index contacts_company;
create index contacts_company on contacts (shard, tenant_id, workspace_id, lower(company), id) where company is not null;

-- Tags compare without case: here they are in lower case, in contacts.tags as they were given.
insert into contact_tags (shard, tenant_id, workspace_id, tag, contact_id)
select shard, tenant_id, workspace_id, lower(tag), contact_id from contact_tags where tag <> lower(tag)
    on conflict do nothing;
delete from contact_tags where tag <> lower(tag);

-- A sequence that was published early on counted the wait before each step as one.
update workflow_versions
   set total_steps = jsonb_array_length(definition -> 'steps')
 where form = 'sequence' and total_steps <> jsonb_array_length(definition -> 'steps');
