-- Requests to wikis and calls of models, their cost, and the work that was given up.

create view http_attempts as from lake.http_attempts;

create view llm_runs as from lake.llm_runs;

create view llm_attempts as from lake.llm_attempts;

-- Calls of models, by day.
create view llm_usage as
select
    interrogation, model, (started_at at time zone 'UTC')::date as day,
    count(distinct item_id) as items,
    count(*) as calls,
    count(*) filter (where outcome <> 'ok') as failures,
    sum(tokens_in)::bigint as tokens_in,
    sum(tokens_out)::bigint as tokens_out,
    sum(total_ms) / 1000 as seconds
from lake.llm_attempts
group by all;

-- What an item costs, by the question and the model that was asked.
create view llm_costs as
select
    interrogation, model,
    count(*) as items,
    count(*) filter (where status = 'ok') as answered,
    sum(calls)::bigint as calls,
    avg(total_ms) / 1000 as average_seconds,
    avg(tokens_in) as average_tokens_in,
    avg(tokens_out) as average_tokens_out,
    sum(total_ms) / 1000 as seconds,
    sum(tokens_in)::bigint as tokens_in,
    sum(tokens_out)::bigint as tokens_out
from lake.llm_runs
where calls > 0
group by all;

-- How many attempts items took, by the question. Items that a kept answer served took none.
create view llm_attempt_counts as
select
    interrogation,
    count(*) as items,
    count(*) filter (where attempts = 1) as one_attempt,
    count(*) filter (where attempts = 2) as two_attempts,
    count(*) filter (where attempts = 3) as three_attempts,
    count(*) filter (where attempts >= 4) as four_attempts,
    avg(attempts) as average_attempts,
    count(*) filter (where status = 'ok') as answered,
    count(*) filter (where status = 'failed') as failed,
    count(*) filter (where status = 'dead') as dead
from lake.llm_runs
where attempts > 0
group by all;

create view gpu_runs as from lake.gpu_runs;

create view repeat_answers as from lake.repeat_answers;

create view trials as from lake.trials;

-- Pages that could not be fetched or read, and items that no model could answer: a page, a chunk or a pair. A pair
-- has no title key; its title is both names.
create view given_up as
select
    'pages' as stage, source, title, title_key, batch, attempts, error, fetched_at as died_at
from last_attempts
where status = 'dead'
union all
select step as stage, source, title, title_key, batch, attempts, error, died_at
from lake.unread_pages
semi join current_pages using (batch, title_key)
union all
select
    interrogation as stage,
    source,
    case when contains(item_id, '#') then regexp_replace(subject, '#[0-9]+$', '') else subject end as title,
    try_cast(split_part(item_id, '#', 1) as bigint) as title_key,
    partition as batch, attempts, error, finished_at as died_at
from lake.llm_runs
-- A page that was read again stands in another batch, which has its own answers.
where status = 'dead' and (
    title_key is null or (partition, title_key) in (select (batch, title_key) from current_pages)
)
union all
select 'files' as stage, source, name as title, null::bigint as title_key, batch, attempts, error, fetched_at as died_at
from standing_file_attempts
where status = 'dead';

create view dead_letters as
select dead.*
from given_up as dead
left join last_requeues as requeue
    on dead.source = requeue.source and coalesce(dead.title_key = requeue.title_key, dead.title = requeue.title)
where coalesce(requeue.decided_at < dead.died_at, true);

-- Failures that stand, with the tracebacks that were kept of them.
create view tracebacks as
with failed as (
    select 'pages' as stage, batch as scope, title_key::varchar as item, source, title, error
    from last_attempts
    where status in ('failed', 'dead')
    union all
    select step as stage, scope, title_key::varchar as item, source, title, error
    from lake.unread_pages
    semi join current_pages using (batch, title_key)
    union all
    select interrogation as stage, scope, item_id as item, source, subject as title, error
    from (select *, try_cast(split_part(item_id, '#', 1) as bigint) as title_key from lake.llm_runs)
    where status in ('failed', 'dead') and (
        title_key is null or (partition, title_key) in (select (batch, title_key) from current_pages)
    )
    union all
    select 'files' as stage, batch as scope, artifact_key::varchar as item, source, name as title, error
    from standing_file_attempts
    where status in ('failed', 'dead')
)
select failed.stage, failed.source, failed.title, kept.item, kept.scope, failed.error, kept.traceback, kept.failed_at
from lake.tracebacks as kept
join failed using (stage, scope, item);
