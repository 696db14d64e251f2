-- Rows of the batches that `crawl.compacted` does not cover. $relation is "view", or "table" to make them once.

create or replace $relation crawl.new_pages as
select
    source, requested_key, requested_title, title_key, title, namespace, batch, status, attempts, error, due_at,
    fetched_at, revision_id, status in ('ok', 'missing', 'invalid') as is_answer
from crawl.new_outcomes;

-- The outcome of each request, both under the requested title and under the wiki's own title.
create or replace view crawl.mentions as
with outcomes as materialized (from crawl.new_pages)
select
    source, requested_key as title_key, requested_title as title, namespace, batch, status, attempts, error, due_at,
    fetched_at, revision_id, is_answer
from outcomes
union all
select
    source, title_key, title, namespace, batch, status, attempts, error, due_at, fetched_at, revision_id, is_answer
from outcomes
where is_answer and title_key <> requested_key;

-- Few titles were requested more than once; only those must be sorted by time.
create or replace $relation crawl.repeated as
select title_key from crawl.mentions group by title_key having count(*) > 1;

create or replace view crawl.asked as
with ranked as (
    select
        *,
        row_number() over (partition by title_key order by fetched_at desc, batch desc) as recency,
        row_number() over (partition by title_key order by is_answer desc, fetched_at desc, batch desc) as place
    from crawl.mentions semi join crawl.repeated using (title_key)
)
select
    source, title_key, title, namespace, status, attempts, error, due_at, fetched_at as asked_at,
    if(is_answer, fetched_at, null) as answered_at,
    if(is_answer, status, null) as answered_status,
    if(is_answer, revision_id, null) as answered_revision
from crawl.mentions anti join crawl.repeated using (title_key)
union all
select
    last.source, last.title_key, last.title, last.namespace, last.status, last.attempts, last.error, last.due_at,
    last.fetched_at,
    if(answer.is_answer, answer.fetched_at, null),
    if(answer.is_answer, answer.status, null),
    if(answer.is_answer, answer.revision_id, null)
from ranked as last join ranked as answer using (title_key)
where last.recency = 1 and answer.place = 1;

-- The links of a page that was read twice are those of the last reading.
create or replace $relation crawl.superseded as
select title_key, batch
from crawl.mentions semi join crawl.repeated using (title_key)
where is_answer
qualify batch <> first(batch) over (partition by title_key order by fetched_at desc, batch desc);

create or replace view crawl.current_links as
select links.*
from crawl.new_links as links
anti join crawl.superseded as superseded
    on superseded.title_key = links.from_key and superseded.batch = links.batch;

-- The wiki's own titles of pages that were requested under other titles.
create or replace view crawl.other_names as
select source, requested_key, title_key
from crawl.new_pages
where is_answer and title_key <> requested_key;

create or replace $relation crawl.linked as
select target_key as title_key, count(*) as inbound from crawl.current_links group by target_key;

-- Titles that new pages lead to, and the depth that was known of them before.
create or replace $relation crawl.named as
select title_key, known.title_key is not null as was_known, known.source, known.depth
from (
    select title_key from crawl.linked
    union all
    select distinct title_key from crawl.other_names anti join crawl.linked using (title_key)
)
left join crawl.compacted as known using (title_key);

-- Titles that only new links name.
create or replace $relation crawl.unasked as
with unnamed as (
    select title_key
    from crawl.named
    anti join crawl.asked using (title_key)
    anti join crawl.new_seeds using (title_key)
    where not was_known
)
select
    any_value(source) as source, target_key as title_key,
    any_value(target) as title, any_value(target_namespace) as namespace
from crawl.current_links
semi join unnamed on unnamed.title_key = target_key
group by target_key;

-- A redirect leads to its target at no distance, and a requested title to the wiki's own. A dump has no depth.
create or replace view crawl.edges as
with edges as (
    select source, from_key, target_key, (kind <> 'redirect')::integer as length from crawl.current_links
    union all
    select source, requested_key, title_key, 0 from crawl.other_names
)
select from_key, target_key, length, max_depth, farthest
from edges join crawl.settings as settings using (source)
where not is_dump and length <= farthest;

-- If every page of a wiki is wanted, a page is as good as a seed as soon as its change is reported, and while it stands.
create or replace view crawl.standing_titles as
with reported as (from crawl.changes where kind <> 'delete'),
standing as (
    select source, title_key, title, namespace from reported
    union all
    select source, title_key, title, namespace
    from crawl.asked anti join reported using (title_key)
    where answered_status = 'ok'
)
select source, title_key, title, namespace
from standing join crawl.settings using (source)
where is_whole;
