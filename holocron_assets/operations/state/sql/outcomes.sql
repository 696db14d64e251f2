-- What came of work, and when. Types have the moment at which those of their batch were written.

create or replace view outcomes as
select
    'pages' as stage, source, null::varchar as interrogation, requested_title as subject,
    case when status in ('failed', 'dead') then status else 'done' end as outcome, error, fetched_at as ended_at
from page_outcomes
union all
-- A page is given up once, by the first of the steps that could not read it. Its row of types says nothing.
select
    'page_types', source, null, title, 'dead',
    title || ': ' || string_agg(step, ', ' order by step) || ': '
        || arg_min(if(starts_with(error, title || ': '), substr(error, length(title) + 3), error), died_at),
    min(died_at)
from lake.unread_pages
group by source, batch, title_key, title
union all
select 'page_types', types.source, null, title, 'done', null, typed_at
from lake.page_types as types
join typed_batches using (batch)
anti join lake.unread_pages as unread using (batch, title_key)
union all
select 'interrogations', source, interrogation, subject, if(status = 'ok', 'done', status), error, finished_at
from lake.llm_runs
union all
select
    'files', source, null, name, case when status in ('failed', 'dead') then status else 'done' end, error, fetched_at
from lake.files
union all
select 'entities', source, null, title, 'done', null, valid_from
from lake.entities
union all
select 'review', source, null, title, 'done', null, decided_at
from standing_decisions
where kind not in ('requeue', 'ungroup')
union all
select
    'requests', source, null, scope, if(outcome = 'ok', 'done', 'failed'),
    outcome || coalesce(' (HTTP ' || status || ')', '') || coalesce(': ' || error, ''), started_at
from lake.http_attempts
union all
select
    'calls', null, interrogation, subject, if(outcome = 'ok', 'done', 'failed'),
    outcome || coalesce(': ' || error, ''), started_at
from lake.llm_attempts
where tag is null;

-- Runs of Dagster that failed: those that its storage was asked for, and those that the daemon noted.
create or replace view failed_runs as
with noted as (
    select distinct on (notice_id)
        notice_id as run_id, body ->> '$$.data.job' as job, body ->> '$$.data.source' as source,
        body ->> '$$.data.partition' as partition, body ->> '$$.data.reason' as error, happened_at as ended_at
    from lake.notices
    where event = 'run.failure'
)
from dagster_failures
union all
from noted anti join dagster_failures using (run_id);

-- What ended in the future was ended by a clock that was ahead. The clocks of several machines differ a little.
create or replace $relation recent_outcomes as
from outcomes
where ended_at > coalesce(getvariable('now')::timestamptz, now()) - interval 24 hour
    and ended_at < coalesce(getvariable('now')::timestamptz, now()) + interval 5 minute;
