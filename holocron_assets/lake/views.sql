-- The views that people and programs rely on. `lake.NAME` is every row of table NAME.

create view pages as from lake.pages;

-- Answers in order of time: a dump is as true as its revision's date, a wiki's answer as its own. No two tie.
create view answers as
select
    source, title_key, page_id, batch, position, status,
    struct_pack(
        as_of := case when http_status is null then coalesce(revision_at, fetched_at) else fetched_at end,
        fetched_at := fetched_at,
        revision_id := coalesce(revision_id, 0),
        batch := batch,
        earlier := -position
    ) as moment
from lake.pages
where status in ('ok', 'missing', 'invalid');

-- Answers that do not count any more: a title has a newer one, or its page was found at another title since. A
-- page keeps its id when it moves; what a move leaves behind at the old title is another page. Only what was
-- answered several times is compared, which is little of a large wiki.
create view superseded_answers as
with keys as materialized (
    select source, title_key, page_id, status = 'ok' as is_ok
    from lake.pages
    where status in ('ok', 'missing', 'invalid')
),
titles_answered_again as (select title_key from keys group by title_key having count(*) > 1),
pages_found_again as (
    select source, page_id from keys where is_ok and page_id is not null group by all having count(*) > 1
)
select batch, position
from answers
where title_key in (from titles_answered_again) or (source, page_id) in (from pages_found_again)
qualify
    row_number() over (partition by source, title_key order by moment desc) > 1
    or (
        status = 'ok'
        and page_id is not null
        and row_number() over (partition by source, page_id, status = 'ok' order by moment desc) > 1
    );

-- The answer that counts for each title: the newest.
create view current_answers as
select source, title_key, batch, position
from answers
anti join superseded_answers using (batch, position)
where status = 'ok';

create view current_pages as
from lake.pages
anti join superseded_answers using (batch, position)
where status = 'ok';

create view page_links as from lake.page_links;

create view page_signals as from lake.page_signals;

create view page_classifications as from lake.rule_classifications;

create view page_types as
select types.*
from lake.page_types as types
semi join current_answers as current
    on types.batch = current.batch and types.title_key = current.title_key;

create view entity_candidates as
select candidates.*
from lake.entity_candidates as candidates
semi join current_answers as current
    on candidates.batch = current.batch and candidates.title_key = current.title_key;

create view entity_history as from lake.entities;

-- One row an id: in the type where it stands. A retyped page leaves a suppressed row in its old type. Only ids with
-- several rows are compared, which are few.
create view entities as
with several as (
    select entity_id from lake.entities where valid_to is null group by entity_id having count(*) > 1
),
left_behind as (
    select entity_id, entity_type
    from lake.entities
    semi join several using (entity_id)
    where valid_to is null
    qualify row_number() over (
        partition by entity_id order by state = 'suppressed', valid_from desc, entity_type
    ) > 1
)
from lake.entities
anti join left_behind using (entity_id, entity_type)
where valid_to is null;

-- Entities that a person should look at.
create view entity_reviews as
select
    entity_id, entity_type, source, title, title_key, page_id, revision_id, state, review_reason, review_since
from entities
where review_reason is not null;

create view entity_aliases as from lake.entity_aliases;

create view entity_pairs as from lake.entity_pairs;

create view http_attempts as from lake.http_attempts;

create view sites as from lake.sites;

create view last_requeues as
select source, title_key, any_value(title) as title, max(decided_at) as decided_at
from lake.requeues
group by source, title_key;

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

-- Pages that could not be fetched, and items that no model could answer: of a page, of its chunks, of a pair. A
-- pair has no title key; its title is both names.
create view given_up as
select
    'pages' as stage, source, title, title_key, batch, attempts, error, fetched_at as died_at
from last_attempts
where status = 'dead'
union all
select
    interrogation as stage,
    source,
    case when contains(item_id, '#') then regexp_replace(subject, '#[0-9]+$', '') else subject end as title,
    try_cast(split_part(item_id, '#', 1) as bigint) as title_key,
    partition as batch, attempts, error, finished_at as died_at
from lake.llm_runs
where status = 'dead';

create view dead_letters as
select dead.*
from given_up as dead
left join last_requeues as requeue
    on dead.source = requeue.source and coalesce(dead.title_key = requeue.title_key, dead.title = requeue.title)
where coalesce(requeue.decided_at < dead.died_at, true);

create view llm_runs as from lake.llm_runs;

create view llm_attempts as from lake.llm_attempts;

create view gpu_runs as from lake.gpu_runs;

create view repeat_answers as from lake.repeat_answers;

create view decisions as from lake.decisions;
