-- How things stand: what waits where and for how long, how fast it goes, and what fails.

create or replace view processing_status as
select
    stage, source, interrogation,
    coalesce(sum(items) filter (status = 'pending'), 0)::bigint as pending,
    coalesce(sum(items) filter (status = 'in flight'), 0)::bigint as in_flight,
    coalesce(sum(items) filter (status = 'waiting'), 0)::bigint as waiting,
    coalesce(sum(items) filter (status in ('needs review', 'open')), 0)::bigint as review,
    coalesce(sum(items) filter (status = 'dead'), 0)::bigint as dead,
    coalesce(sum(items) filter (status = 'skipped'), 0)::bigint as skipped,
    coalesce(sum(items) filter (
        status not in ('pending', 'in flight', 'waiting', 'needs review', 'open', 'dead', 'skipped')
    ), 0)::bigint as done,
    min(oldest_at) filter (status in ('pending', 'in flight', 'waiting', 'open')) as oldest_at,
    min(next_due_at) filter (status = 'waiting') as next_due_at
from processing_reasons
group by stage, source, interrogation
order by list_position(['pages', 'page_types', 'interrogations', 'entities', 'files', 'review'], stage), source, interrogation;

create or replace view aged_work as
select
    stage, source, interrogation,
    sum(items)::bigint as items,
    coalesce(sum(over_60), 0)::bigint as over_60_minutes,
    coalesce(sum(over_240), 0)::bigint as over_240_minutes,
    coalesce(sum(over_1440), 0)::bigint as over_1440_minutes,
    min(oldest_at) as oldest_at
from processing_reasons
where status in ('pending', 'in flight', 'waiting', 'open')
group by all
having over_60_minutes > 0
order by oldest_at;

create or replace view queue_health as
with recent as (
    select
        stage, source, interrogation,
        count(*) filter (outcome = 'done') as done,
        count(*) filter (outcome = 'failed') as failed,
        count(*) filter (outcome = 'dead') as dead
    from recent_outcomes
    where ended_at > coalesce(getvariable('now')::timestamptz, now()) - interval 1 hour
    group by all
),
last_done as (
    select stage, source, interrogation, max(ended_at) as last_done_at
    from recent_outcomes
    where outcome = 'done'
    group by all
),
queues as (
    select
        stage, source, interrogation,
        coalesce(sum(items) filter (status in ('pending', 'in flight', 'waiting', 'open')), 0)::bigint as depth,
        min(oldest_at) filter (status in ('pending', 'in flight', 'waiting', 'open')) as oldest_at,
        coalesce(sum(new_in_hour), 0)::bigint as came
    from processing_reasons
    group by all
)
select
    queues.stage, queues.source, queues.interrogation, depth, oldest_at,
    epoch(coalesce(getvariable('now')::timestamptz, now()) - oldest_at) / 60 as oldest_minutes,
    came as in_last_hour,
    -- Only a caller that read the times of files knows when types were made (`typed_batches`).
    if(queues.stage = 'page_types' and not exists (from typed_batches), null, coalesce(recent.done, 0)) as out_last_hour,
    coalesce(recent.failed, 0) as failed_last_hour,
    coalesce(recent.dead, 0) as dead_last_hour,
    last_done_at,
    case when depth = 0 then 0 when recent.done > came then depth * 60.0 / (recent.done - came) end as eta_minutes
from queues
left join recent
    on recent.stage = queues.stage
    and recent.source is not distinct from queues.source
    and recent.interrogation is not distinct from queues.interrogation
left join last_done
    on last_done.stage = queues.stage
    and last_done.source is not distinct from queues.source
    and last_done.interrogation is not distinct from queues.interrogation
order by list_position(['pages', 'page_types', 'interrogations', 'entities', 'files', 'review'], queues.stage), queues.source, queues.interrogation;

-- The cause of a failure is its error without what differs from page to page: the page's name, as a whole word or
-- quoted; what is quoted or listed, which wikis and models wrote; what a value is that fits no schema; and numbers,
-- those of a reply all, else long ones. chr(1) stands for what is left out.
create or replace $relation failures as
with failed as (
    select
        stage, source, interrogation, null::varchar as job, subject, outcome, coalesce(error, outcome) as message,
        ended_at
    from recent_outcomes
    where outcome <> 'done'
    union all
    -- Left out: a run whose error only counts other failures ('3 of 5 runs failed'). Those have rows of their own.
    select 'runs', source, null, job, coalesce(partition, job), 'failed', coalesce(error, 'failed'), ended_at
    from failed_runs
    where ended_at > coalesce(getvariable('now')::timestamptz, now()) - interval 24 hour
    and not regexp_matches(coalesce(error, ''), '^[0-9]+ of [0-9]+ (runs failed|remain)')
),
shortened as (
    select
        *,
        case
            when starts_with(message, subject || ': ') then substr(message, length(subject) + 3)
            when starts_with(message, '''' || subject || ''': ') then substr(message, length(subject) + 5)
            else message
        end as reason,
        -- A name without letters stays: the number may be something else, such as an HTTP status.
        if(
            contains(reason, subject) and regexp_matches(subject, '\pL'),
            regexp_replace(
                reason,
                '(^|[^\pL\pN_])' || regexp_escape(subject) || '($$|[^\pL\pN_])', '\1' || chr(1) || '\2', 'g'
            ),
            reason
        ) as nameless,
        regexp_replace(
            nameless,
            '(?s)(\banswer(?:\.[^: ]+)*: ).*(is not (?:one of|of type|a )|is too (?:long|short)'
            || '|is (?:less|greater) than|was expected|does not match|should be non-empty|has non-unique elements).*',
            '\1' || chr(1) || ' \2'
        ) as valueless,
        regexp_replace(
            valueless, '\B''(?:[^''\\]|\\.|''[\pL\pN_])*''\B|"(?:[^"\\]|\\.)*"', chr(1), 'g'
        ) as without_quotes,
        -- A quote may have no end, since errors are cut.
        regexp_replace(without_quotes, '(?s)\B''.*|".*', chr(1)) as unquoted,
        regexp_replace(unquoted, '[\[{(][\x01\d., :-]*\x01[\x01\d., :-]*[\]})]', chr(1), 'g') as unlisted,
        regexp_replace(unlisted, '\x01(?:[, ]*\x01)+', chr(1), 'g') as short,
        if(
            regexp_matches(short, '(^|: )answer[.:]|\bthe reply\b'),
            regexp_replace(short, '[-+]?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?', 'N', 'g'),
            regexp_replace(short, '[0-9a-f]*\d{4,}[0-9a-f]*', 'N', 'g')
        ) as numberless,
        left(replace(numberless, chr(1), '''...'''), 200) as cause
    from failed
)
select
    stage, source, interrogation, job, cause,
    count(*) as failures,
    count(*) filter (outcome = 'dead') as dead,
    arg_max(subject, ended_at) as example,
    min(ended_at) as first_at,
    max(ended_at) as last_at
from shortened
group by all
order by failures desc, stage, cause;

create or replace view throughput as
$by_hour
from outcomes
group by all
order by all;

create or replace view recent_throughput as
$by_hour
from recent_outcomes
group by all
order by all;
