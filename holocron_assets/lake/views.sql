-- The views that people and programs rely on. `lake.NAME` is every row of table NAME.

create view pages as from lake.pages;

-- The newest answer about each title: a dump is as true as its revision's date, a wiki's answer as its own.
create view newest_answers as
select source, title_key, unnest(newest)
from (
    select
        source,
        title_key,
        arg_max(
            struct_pack(batch := batch, position := position),
            struct_pack(
                as_of := case
                    when http_status is null then coalesce(revision_at, fetched_at) else fetched_at
                end,
                fetched_at := fetched_at,
                earlier := -position
            )
        ) as newest
    from lake.pages
    where status in ('ok', 'missing', 'invalid')
    group by all
);

create view current_pages as
select pages.*
from lake.pages as pages
semi join newest_answers as newest
    on pages.batch = newest.batch and pages.position = newest.position
where pages.status = 'ok';

create view page_links as from lake.page_links;

create view page_signals as from lake.page_signals;

create view page_classifications as from lake.rule_classifications;

create view page_types as
select types.*
from lake.page_types as types
semi join current_pages as current
    on types.batch = current.batch and types.title_key = current.title_key;

create view entity_candidates as
select candidates.*
from lake.entity_candidates as candidates
semi join current_pages as current
    on candidates.batch = current.batch and candidates.title_key = current.title_key;

create view entity_history as from lake.entities;

create view entities as from lake.entities where valid_to is null;

create view entity_aliases as from lake.entity_aliases;

create view http_attempts as from lake.http_attempts;

create view sites as from lake.sites;

create view last_requeues as
select source, title_key, max(decided_at) as decided_at from lake.requeues group by all;

-- The last attempt at each title that was asked for.
create view last_attempts as
select source, title_key, unnest(last)
from (
    select
        source,
        requested_key as title_key,
        arg_max(
            struct_pack(
                title := requested_title, status := status, attempts := attempts, error := error,
                due_at := due_at, fetched_at := fetched_at, revision_id := revision_id, depth := depth,
                namespace := namespace, batch := batch
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from lake.pages
    group by all
);

create view dead_letters as
select
    'pages' as stage, last.source, last.title, last.title_key, last.batch, last.attempts, last.error,
    last.fetched_at as died_at
from last_attempts as last
left join last_requeues as requeue using (source, title_key)
where last.status = 'dead' and coalesce(requeue.decided_at < last.fetched_at, true);
