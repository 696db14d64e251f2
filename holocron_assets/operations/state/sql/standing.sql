-- Where all work stands, by stage and reason. $relation is "view", or "table" to look at the frontier once.

-- Titles with the moment since when they are where they are, and with the one at which there was a reason to ask.
create or replace view titles_by_age as
with titles as materialized (from frontier),
manifests as materialized (select title_key, min(cut_at) as cut_at from crawl.manifests group by title_key),
requeues as materialized (select title_key, max(decided_at) as decided_at from crawl.requeues group by title_key),
read as materialized (select title_key, asked_at from titles where answer = 'ok')
select
    titles.source, status, titles.due_at,
    case when status in ('skipped', 'pending') then reason end as reason,
    case
        when reason = 'changed' then reported_at
        when reason = 'requeue' then decided_at
        else coalesce(listed_at, read.asked_at)
    end as known_at,
    case
        when status = 'in flight' then cut_at
        when status in ('waiting', 'dead') or reason = 'retry' then titles.asked_at
        when status = 'pending' then known_at
    end as since,
    -- False if the title was asked for before this reason was known: then the reason made no new work.
    status in ('pending', 'in flight') or titles.asked_at >= known_at as is_first
from titles
left join manifests using (title_key)
left join requeues using (title_key)
left join read on read.title_key = titles.via_key;

create or replace $relation outdated_pages as
from superseded_pages;

-- Pages that a step could not read, and that nobody brought back: each is given up once, at whatever steps.
create or replace $relation unread_now as
select unread.source, batch, unread.title_key, string_agg(step, ', ' order by step) as steps, min(died_at) as died_at
from lake.unread_pages as unread
anti join outdated_pages using (batch, title_key)
left join last_requeues as requeue
    on requeue.source = unread.source and requeue.title_key = unread.title_key
where coalesce(requeue.decided_at < died_at, true)
group by all;

create or replace $relation read_batches as
select source, batch, count(distinct title_key) filter (status = 'ok') as pages, max(fetched_at) as since
from page_outcomes
group by source, batch;

-- What each interrogation wants. `since` of a batch is when its pages were fetched. Of a pair no time is known.
create or replace $relation wanted_items as
select wanted.*, since
from ($wanted) as wanted left join read_batches on batch = partition;

-- What was asked of them as they are now, and what of that is to be asked again, or was given up.
create or replace view asked_items as
select asked.* exclude (item_id), split_part(item_id, '#', 1) as item
from lake.llm_runs as asked
semi join ($versions) as versions using (interrogation, prompt_version);

create or replace view unanswered_items as
select
    interrogation, source, partition, item, since, null as due_at, 'pending' as status
from wanted_items anti join asked_items using (interrogation, partition, item)
union all
select
    interrogation, asked.source, partition, item, finished_at, if(asked.status = 'failed', due_at, null),
    case
        when asked.status = 'failed' and due_at > coalesce(getvariable('now')::timestamptz, now()) then 'waiting'
        when asked.status = 'dead' and coalesce(requeue.decided_at < finished_at, true) then 'dead'
        else 'pending'
    end
from asked_items as asked
semi join wanted_items as wanted using (interrogation, partition, item)
left join last_requeues as requeue
    on requeue.source = asked.source and requeue.title_key = try_cast(asked.item as bigint)
where asked.status <> 'ok';

create or replace $relation processing_reasons as
with moments as (
    select coalesce(getvariable('now')::timestamptz, now()) as present, present - interval 1 hour as hour_ago
),
everything as (
    select
        'pages' as stage, source, null::varchar as interrogation, status, reason, 1 as items, since, due_at,
        is_first and known_at > hour_ago as is_new
    from titles_by_age cross join moments
    union all
    select 'page_types', source, null, 'pending', null, pages - coalesce(unread, 0), since, null, since > hour_ago
    from read_batches
    anti join (select distinct batch from lake.page_types) as typed using (batch)
    left join (select batch, count(*) as unread from unread_now group by batch) as unread_pages using (batch)
    cross join moments
    where pages > coalesce(unread, 0)
    union all
    select 'page_types', source, null, 'dead', steps, 1, died_at, null, false from unread_now
    union all
    -- What is to be made again since rules, code or inputs changed: nothing tells since when that is so.
    select
        'page_types', types.source, null,
        case when stale.batch is not null then 'pending' when needs_review then 'needs review' else 'settled' end,
        if(stale.batch is null, primary_type, null), count(*), null, null, read.since > hour_ago
    from lake.page_types as types
    anti join outdated_pages using (batch, title_key)
    anti join unread_now using (batch, title_key)
    left join stale_batches as stale using (batch)
    left join read_batches as read using (batch)
    cross join moments
    group by all
    union all
    select
        'interrogations', source, interrogation,
        if(under_way.item is null, status, 'in flight'), null, 1, since, if(under_way.item is null, due_at, null),
        status = 'pending' and since > hour_ago
    from unanswered_items
    left join items_under_way as under_way using (interrogation, partition, item)
    cross join moments
    union all
    select 'interrogations', asked.source, interrogation, 'done', null, count(*), null, null, read.since > hour_ago
    from asked_items as asked
    semi join wanted_items as wanted using (interrogation, partition, item)
    left join read_batches as read on read.batch = asked.partition
    cross join moments
    where status = 'ok'
    group by all
    union all
    select 'entities', candidates.source, null, 'pending', entity_type, 1, read.since, null, read.since > hour_ago
    from lake.entity_candidates as candidates
    anti join outdated_pages using (batch, title_key)
    anti join entities using (title_key)
    left join read_batches as read using (batch)
    cross join moments
    union all
    select
        'entities', source, null, if(review_reason is null, state, 'needs review'), entity_type, 1, review_since, null,
        false
    from entities
    union all
    select
        'files', listed.source, null, listed.status, listed.reason, 1,
        case
            when listed.status = 'in flight' then manifests.cut_at
            when listed.status in ('waiting', 'dead') or listed.reason = 'retry' then listed.asked_at
            when listed.status = 'pending' then named.listed_at
        end,
        listed.due_at, listed.status = 'pending' and named.listed_at > hour_ago
    from file_frontier as listed
    join lake.file_list as named on named.source = listed.source and named.name = listed.name
        and named.artifact_key = listed.artifact_key and named.version is not distinct from listed.version
    left join (
        select artifact_key, min(cut_at) as cut_at from lake.file_batches anti join lake.files using (batch) group by all
    ) as manifests on manifests.artifact_key = listed.artifact_key
    cross join moments
    union all
    -- A question about a page is as old as what was read of it.
    select
        'review', items.source, null, 'open', kind, 1, coalesce(items.since, read.since), null,
        coalesce(items.since, read.since) > hour_ago
    from needs_review as items
    left join read_batches as read using (batch)
    cross join moments
)
select
    stage, source, interrogation, status, reason,
    sum(items)::bigint as items,
    min(since) as oldest_at,
    min(due_at) as next_due_at,
    sum(items) filter (is_new)::bigint as new_in_hour,
    sum(items) filter (since <= present - interval 60 minute)::bigint as over_60,
    sum(items) filter (since <= present - interval 240 minute)::bigint as over_240,
    sum(items) filter (since <= present - interval 1440 minute)::bigint as over_1440
from everything cross join moments
group by all
order by all;
