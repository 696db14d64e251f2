-- What each source knows of and has not fetched. Pure functions of the lake, of view `source_settings` (source,
-- is_dump, max_depth, namespaces) and of macros `fits_include` and `fits_exclude` (source, title), which are made
-- from the source files.

-- Every title that is known of: a seed, the target of a link, or asked for once. One view, so that the many
-- small row groups of `pages` are read once.
create view known_titles as
with recursive
outcomes as materialized (
    select
        source, requested_key, requested_title, title_key, title, namespace, depth, batch, status, attempts,
        error, due_at, fetched_at, revision_id, status in ('ok', 'missing', 'invalid') as answered
    from lake.pages semi join source_settings using (source)
),
last_outcomes as (
    select
        source, requested_key as title_key,
        max_by(
            struct_pack(
                status := status, fetched_at := fetched_at, attempts := attempts, error := error,
                due_at := due_at, title := requested_title, namespace := namespace, depth := depth
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from outcomes
    group by all
),
-- Under the name that was asked for, and under the wiki's own.
answers as materialized (
    select
        source, title_key,
        arg_max(title, fetched_at) as title,
        arg_max(namespace, fetched_at) as namespace,
        arg_max(batch, fetched_at) as batch,
        max(fetched_at) as answered_at,
        max(revision_id) as answered_revision
    from (
        select source, title_key, title, namespace, batch, fetched_at, revision_id from outcomes where answered
        union all
        select source, requested_key, requested_title, namespace, batch, fetched_at, revision_id
        from outcomes where answered and requested_key <> title_key
    )
    group by all
),
-- Links of pages as they were last answered for: a page that was read twice links once.
links as materialized (
    select source, from_key, target_key, target, target_namespace, kind
    from lake.page_links as links
    semi join answers on links.from_key = answers.title_key and links.batch = answers.batch
),
link_targets as (
    select
        source, target_key as title_key,
        any_value(target) as title, any_value(target_namespace) as namespace,
        count(*) as inbound
    from links
    group by all
),
-- A redirect stands for its target, and a name that was asked for stands for the wiki's own.
steps as materialized (
    select from_key, target_key, (kind <> 'redirect')::integer as length, max_depth
    from links join source_settings using (source)
    where kind = 'redirect' or coalesce(max_depth > 0, true)
    union all
    select requested_key, title_key, 0, max_depth
    from outcomes join source_settings using (source)
    where answered and requested_key <> title_key
),
seeds as materialized (
    select source, title_key, title, namespace, ordinal, revision_id as wanted_revision, listed_at
    from lake.seed_titles semi join source_settings using (source)
),
-- A page of a batch that has no outcome yet.
in_flight as (
    select distinct title_key
    from lake.batch_pages semi join source_settings using (source)
    where batch not in (select batch from outcomes)
),
-- The fewest links from any seed.
reached (title_key, depth) using key (title_key) as (
    select title_key, 0 from seeds
    union
    select steps.target_key, min(near.depth + steps.length)
    from reached as near
    join steps on steps.from_key = near.title_key
    left join recurring.reached as nearest on nearest.title_key = steps.target_key
    where coalesce(near.depth + steps.length <= steps.max_depth, true)
        and coalesce(near.depth + steps.length < nearest.depth, true)
    group by steps.target_key
)
select
    source,
    title_key,
    coalesce(seeds.title, link_targets.title, last.title, answers.title) as title,
    coalesce(seeds.namespace, link_targets.namespace, last.namespace, answers.namespace) as namespace,
    seeds.title_key is not null as is_seed,
    reached.depth is not null as is_reached,
    coalesce(reached.depth, last.depth) as depth,
    coalesce(inbound, 0) as inbound,
    in_flight.title_key is not null as is_in_flight,
    ordinal,
    wanted_revision,
    listed_at,
    last,
    answered_at,
    answered_revision
from seeds
full join link_targets using (source, title_key)
full join last_outcomes using (source, title_key)
full join answers using (source, title_key)
left join reached using (title_key)
left join in_flight using (title_key);

create view frontier as
with known as (
    select
        known.*,
        settings.*,
        last.status = 'dead' and coalesce(requeue.decided_at < last.fetched_at, true) as is_dead,
        answered_at is not null
            and coalesce(answered_at >= last.fetched_at, true)
            and case
                when not is_dump or ordinal is null then true
                when wanted_revision is null then answered_at >= least(site.fetched_at, listed_at)
                else coalesce(answered_revision >= wanted_revision, false)
            end as is_done
    from known_titles as known
    join source_settings as settings using (source)
    left join lake.sites as site using (source)
    left join last_requeues as requeue using (source, title_key)
),
-- Why a title is not wanted; empty where it is, and where that does not matter any more.
wanted as (
    select
        *,
        case
            when is_in_flight or is_done or is_dead then null
            when is_dump and ordinal is null then 'the dump does not hold it'
            when last.status in ('failed', 'dead') then null
            when not list_contains(namespaces, namespace) then 'namespace ' || namespace || ' is not asked for'
            when not is_reached and max_depth is null then 'no seed leads to it'
            when not is_reached then 'more than ' || max_depth || ' links from every seed'
            when not fits_include(source, title) then 'no pattern to include fits it'
            when fits_exclude(source, title) then 'a pattern to exclude fits it'
        end as unwanted_because
    from known
),
judged as (
    select
        *,
        case
            when is_in_flight then 'in flight'
            when is_done then 'done'
            when is_dead then 'dead'
            when unwanted_because is not null then 'skipped'
            when last.status = 'failed' and last.due_at > now() then 'waiting'
            else 'pending'
        end as status
    from wanted
)
select
    source,
    title,
    title_key,
    namespace,
    is_seed,
    depth,
    inbound,
    ordinal,
    case when status = 'waiting' then last.due_at end as due_at,
    case when last.status = 'failed' then last.attempts else 0 end as failures,
    status,
    case status
        when 'skipped' then unwanted_because
        when 'waiting' then last.error
        when 'dead' then last.error
        when 'pending' then
            case last.status when 'failed' then 'retry' when 'dead' then 'requeue' else 'new' end
    end as reason
from judged;

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
union all
select 'entity_reviews', source, 'needs review', entity_type, count(*), null
from entity_reviews
group by all
order by all;
