-- Parts of statements about contacts, each said once: {name} in a statement stands for the part of that name.
-- found… are ways to find contacts, each along one index; …_is and the like are what a filter asks of contact c.
-- A comparison asks it of [text] and [seen], what c has at a path as text and as JSON, in the [order] of its operator: text_…
-- and seen_… stand for the first two. What does not depend on c stands in a subquery, which is asked once and not for
-- each contact; what is cheap and seldom holds comes first.

-- part: contact_columns
c.id, c.external_id, c.name, c.email, c.phone, c.whatsapp, c.push_tokens, c.company, c.status, c.time_zone, c.locale,
c.tags, c.attributes, c.consent, c.suppressions, c.created_at, c.updated_at

-- part: given_arrays
-- What is given of contacts, as arrays: null leaves a field as it is, an empty string clears it.
:external_id::text[], :name::text[], :email::text[], :phone::text[], :whatsapp::text[], :push_tokens::text[],
:company::text[], :status::text[], :time_zone::text[], :locale::text[], :tags::text[], :attributes::jsonb[],
:consent::jsonb[], :suppressions::jsonb[]

-- part: given_columns
external_id, name, email, phone, whatsapp, push_tokens, company, status, time_zone, locale, tags, attributes, consent,
suppressions

-- part: addresses
-- The addresses of contact c in those of :address_fields that it has filled; null without one. A number of its own
-- comes before the phone's.
case when 'email' = any(:address_fields::text[]) and c.email is not null then array[c.email]
     when 'whatsapp' = any(:address_fields::text[]) and c.whatsapp is not null then array[c.whatsapp]
     when 'phone' = any(:address_fields::text[]) and c.phone is not null then array[c.phone]
     when 'push_tokens' = any(:address_fields::text[]) and c.push_tokens <> '{}' then c.push_tokens end

-- part: found
-- The contacts of a workspace, in the order of their ids.
contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and c.id >= :since and c.id < :before

-- part: found_by_status
contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace and c.deleted_at is null
   and c.status = :status and c.id >= :since and c.id < :before

-- part: found_by_company
-- A deleted contact has no company.
contacts c
 where c.shard = :shard and c.tenant_id = :tenant and c.workspace_id = :workspace
   and lower(c.company) = lower(:company::text) and c.id >= :since and c.id < :before

-- part: found_by_tag
-- The bounds are the tag's rows': the planner takes equality from one side of a join to the other, but no range.
contact_tags t
  join contacts c on c.shard = :shard and c.id = t.contact_id
 where t.shard = :shard and t.tenant_id = :tenant and t.workspace_id = :workspace and t.tag = lower(:tag::text)
   and t.contact_id >= :since and t.contact_id < :before
   and c.deleted_at is null and lower(c.tags::text)::text[] @> array[lower(:tag::text)]

-- part: found_by_id
contacts c
 where c.shard = :shard and c.id = any(:ids::uuid[]) and c.tenant_id = :tenant and c.workspace_id = :workspace
   and c.deleted_at is null and c.id >= :since and c.id < :before

-- part: matching
-- What a filter asks beyond how contacts are found; nothing, unless storage/contact_parts.py puts it there.
true

-- part: status_is
c.status = :value

-- part: company_is
lower(c.company) = (select lower(:value::text))

-- part: tag_is
c.tags <> '{}' and lower(c.tags::text)::text[] @> array[lower(:value::text)]

-- part: tags_any
c.tags <> '{}' and lower(c.tags::text)::text[] && (select lower(:value::text[]::text))::text[]

-- part: tags_all
c.tags <> '{}' and lower(c.tags::text)::text[] @> (select lower(:value::text[]::text))::text[]

-- part: tags_none
c.tags = '{}' or not lower(c.tags::text)::text[] && (select lower(:value::text[]::text))::text[]

-- part: has_is
-- In one of the columns that hold it, as in `addresses`.
(c.email is not null and 'email' = any(:value::text[])) or (c.whatsapp is not null and 'whatsapp' = any(:value::text[]))
or (c.phone is not null and 'phone' = any(:value::text[]))
or (c.push_tokens <> '{}' and 'push_tokens' = any(:value::text[]))

-- part: consent_said
c.consent @> :value::jsonb

-- part: consent_unknown
not c.consent ?| :value::text[]

-- part: allows_is
not c.suppressions ? :value and (c.consent -> :value::text ->> 'status') is distinct from 'withdrawn'

-- part: text_is
-- Somewhere in what people are known by.
strpos(lower(concat_ws(' ', c.external_id, c.name, c.email, c.phone, c.whatsapp, c.company)), lower(:value::text)) > 0

-- part: id_is
c.id = any(:value::uuid[])

-- part: seen_attributes
c.attributes #> :path::text[]

-- part: text_attributes
c.attributes #>> :path::text[]

-- part: seen_field
to_jsonb(c.[column])

-- part: text_field
c.[column]

-- part: exists
[text] is not null

-- part: equals_number
number_in([text], [seen]) = any(:value::numeric[])

-- part: equals_text
lower([text]) = any((select lower(:value::text[]::text))::text[]) and jsonb_typeof([seen]) = 'string'

-- part: equals_truth
truth_in([text]) = any(:value::boolean[])

-- part: contains_number
jsonb_typeof([seen]) = 'array' and has_number([seen], :value::numeric)

-- part: contains_text
-- Only what begins as a list does is asked whether it is one.
case when left([text], 1) = '[' and jsonb_typeof([seen]) = 'array' then has_text([seen], (select lower(:value::text)))
     else strpos(lower([text]), (select lower(:value::text))) > 0 and jsonb_typeof([seen]) = 'string' end

-- part: contains_truth
jsonb_typeof([seen]) = 'array' and has_truth([seen], :value::boolean)

-- part: number
number_in([text], [seen]) [order] :value::numeric

-- part: text
lower([text]) collate "C" [order] (select lower(:value::text)) collate "C" and jsonb_typeof([seen]) = 'string'

-- part: moment
moment_in([text], [seen]) [order] :value::timestamptz

-- part: time
c.[column] [order] :value::timestamptz
