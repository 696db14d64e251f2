-- What each source knows of and has not fetched. Pure functions of the lake and of `source_settings`
-- (source, is_dump, max_depth, namespaces, include_patterns, exclude_patterns), made from the source files.

-- Titles within reach of the seeds, by their true depth: the fewest links from any seed. A redirect stands for
-- its target, so following one adds no depth.
create view reached as
with recursive reached (source, title_key, depth) using key (title_key) as (
    select source, title_key, 0 from lake.seed_titles
    union
    select links.source, links.target_key, min(near.depth + (links.kind <> 'redirect')::integer)
    from reached as near
    join source_settings as settings using (source)
    join lake.page_links as links on links.from_key = near.title_key
    left join recurring.reached as known on known.title_key = links.target_key
    where near.depth + (links.kind <> 'redirect')::integer <= coalesce(settings.max_depth, 1000000)
        and coalesce(known.depth > near.depth + (links.kind <> 'redirect')::integer, true)
    group by all
)
select source, title_key, depth from reached;

create view link_targets as
select
    source,
    target_key as title_key,
    any_value(target) as title,
    any_value(target_namespace) as namespace,
    count(*) as inbound
from lake.page_links
group by source, target_key;

create view known_titles as
select
    source,
    title_key,
    any_value(title) as title,
    any_value(namespace) as namespace,
    min(depth) as depth,
    coalesce(max(inbound), 0) as inbound,
    max(ordinal) as ordinal,
    max(wanted_revision) as wanted_revision
from (
    select source, title_key, title, namespace, 0 as depth, 0 as inbound, ordinal, revision_id as wanted_revision
    from lake.seed_titles
    union all
    select source, title_key, title, namespace, reached.depth, inbound, null, null
    from link_targets left join reached using (source, title_key)
    union all
    select source, title_key, title, namespace, depth, 0, null, null
    from last_attempts
)
group by source, title_key;

-- Titles that were answered for, under the name asked and under the name that the wiki gave.
create view answered_titles as
select source, title_key, max(revision_id) as revision_id
from (
    select source, requested_key as title_key, revision_id
    from lake.pages where status in ('ok', 'missing', 'invalid')
    union all
    select source, title_key, revision_id
    from lake.pages where status in ('ok', 'missing', 'invalid')
)
group by all;

-- A page of a batch that has no outcome yet is in flight, not pending.
create view titles_in_flight as
select distinct source, title_key
from lake.batch_pages
where batch not in (select distinct batch from lake.pages);

create view frontier as
select
    known.source,
    known.title,
    known.title_key,
    known.namespace,
    known.depth,
    known.inbound,
    known.ordinal,
    last.due_at,
    case
        when last.status = 'failed' then last.attempts
        else 0
    end as failures,
    case
        when flight.title_key is not null then 'in flight'
        when answered.title_key is not null
            and coalesce(known.wanted_revision <= answered.revision_id, true) then 'done'
        when last.status = 'dead' and coalesce(requeue.decided_at < last.fetched_at, true) then 'dead'
        when last.status = 'failed' and last.due_at > now() then 'waiting'
        when last.status is not null then 'pending'
        when settings.is_dump and known.ordinal is null then 'skipped'
        when not list_contains(settings.namespaces, known.namespace) then 'skipped'
        when known.depth is null then 'skipped'
        when not coalesce(list_bool_or([regexp_matches(known.title, pattern) for pattern in include_patterns]), true)
            then 'skipped'
        when coalesce(list_bool_or([regexp_matches(known.title, pattern) for pattern in exclude_patterns]), false)
            then 'skipped'
        else 'pending'
    end as status,
    case
        when status = 'waiting' or status = 'dead' then last.error
        when status = 'pending' and last.status = 'failed' then 'retry'
        when status = 'pending' and last.status = 'dead' then 'requeue'
        when status = 'pending' then 'new'
        when status <> 'skipped' then null
        when settings.is_dump and known.ordinal is null then 'the dump does not hold it'
        when not list_contains(settings.namespaces, known.namespace)
            then 'namespace ' || known.namespace || ' is not asked for'
        when known.depth is null then 'more than ' || settings.max_depth || ' links from every seed'
        else 'title does not fit the source''s patterns'
    end as reason
from known_titles as known
join source_settings as settings using (source)
left join titles_in_flight as flight using (source, title_key)
left join answered_titles as answered using (source, title_key)
left join last_attempts as last using (source, title_key)
left join last_requeues as requeue using (source, title_key);

create view processing_status as
select 'pages' as stage, source, status, reason, count(*) as titles, min(due_at) as next_due_at
from (
    select source, status, due_at, case when status in ('skipped', 'pending') then reason end as reason
    from frontier
)
group by all
union all
select
    'page_types', types.source,
    case when types.needs_review then 'needs review' else 'settled' end, types.primary_type, count(*), null
from page_types as types
group by all
union all
select 'entities', source, state, entity_type, count(*), null
from entities
group by all
order by all;
