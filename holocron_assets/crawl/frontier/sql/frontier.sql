-- The titles that each source knows, whether they were fetched, and if not, why.

create or replace view frontier as
with known as (
    select
        known.* exclude (source, status, is_shortcut),
        -- What was tried with the file that a dump was before says nothing of the file that it is now.
        if(
            is_dump and ordinal is not null and asked_at < least(site.fetched_at, listed_at)
                and known.status in ('failed', 'dead'),
            null, known.status
        ) as last_status,
        settings.*,
        in_flight.title_key is not null as is_in_flight,
        coalesce(answered_at >= asked_at, false)
            and case
                when not is_dump or ordinal is null then true
                when wanted_revision is null then answered_at >= least(site.fetched_at, listed_at)
                else coalesce(answered_revision >= wanted_revision, false)
            end as is_answered,
        change.title_key is not null as is_reported,
        change.seen_at as reported_at,
        change.surely_at,
        not is_settled(
            change.kind, change.revision_id, change.seen_at, change.surely_at,
            asked_at, answered_status, answered_revision
        ) as is_changed,
        -- It was requested after the change was reported (give or take a minute), but the answer lacked it.
        is_changed and last_status <> 'failed'
            and asked_at >= greatest(change.seen_at, change.changed_at - interval 1 minute) as is_behind
    from known_titles as known
    join crawl.settings as settings using (source)
    left join (select distinct title_key from crawl.manifests) as in_flight using (title_key)
    left join crawl.changes as change using (title_key)
    left join crawl.sites as site on site.source = known.source
),
-- Why a title is not wanted; empty where it is wanted, or where that does not matter any more.
wanted as (
    select
        known.*,
        coalesce(is_changed, false) as has_changed,
        coalesce(requeue.decided_at < asked_at, true) as is_left_alone,
        last_status = 'dead' and is_left_alone and not has_changed as is_dead,
        case
            when is_in_flight or is_dead or (is_answered and not has_changed) then null
            when is_dump and ordinal is null then 'the dump does not hold it'
            when last_status in ('failed', 'dead') then null
            when not list_contains(namespaces, namespace) then 'namespace ' || namespace || ' is not asked for'
            when depth is null and not is_answered and max_depth is null then 'no seed leads to it'
            when depth is null and not is_answered then 'more than ' || max_depth || ' links from every seed'
            when not fits_include(source, title) then 'no pattern to include fits it'
            when fits_exclude(source, title) then 'a pattern to exclude fits it'
        end as unwanted_because
    from known
    left join (
        select title_key, max(decided_at) as decided_at from crawl.requeues group by title_key
    ) as requeue using (title_key)
),
judged as (
    select
        *,
        coalesce(getvariable('now')::timestamptz, now()) as present,
        case
            when is_in_flight then 'in flight'
            when is_answered and (not has_changed or unwanted_because is not null) then 'done'
            when is_dead then 'dead'
            when unwanted_because is not null then 'skipped'
            -- A due time later than the longest delay came from a clock that was ahead.
            when last_status = 'failed' and is_left_alone and due_at > present and due_at <= present + interval 10 minute
                then 'waiting'
            when is_behind and surely_at > present then 'waiting'
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
    case when status = 'waiting' then if(is_behind, surely_at, due_at) end as due_at,
    case when last_status = 'failed' then attempts else 0 end as failures,
    status,
    case
        when status = 'skipped' then unwanted_because
        when status = 'waiting' and is_behind then 'changed'
        when status in ('waiting', 'dead') then error
        when status <> 'pending' then null
        when last_status = 'failed' then 'retry'
        when has_changed or (last_status is null and is_reported and not is_seed) then 'changed'
        when last_status = 'dead' then 'requeue'
        else 'new'
    end as reason,
    case when reason = 'changed' then reported_at end as reported_at,
    via_key,
    asked_at,
    answered_status as answer,
    listed_at
from judged;

-- Titles that fetched pages link to and that the lake has no page of, the most wanted first.
create or replace view wanted_pages as
select
    source, title, namespace, inbound,
    case
        when answer = 'missing' then 'missing on the wiki'
        when answer = 'invalid' then 'no title that a page can have'
        when status = 'skipped' then reason
        when status = 'pending' then 'not asked for yet'
        else status
    end as why
from frontier
where inbound > 0 and answer is distinct from 'ok'
order by inbound desc, title;
