-- Files: what sources list, what was fetched of it, and which pages use it.

create view file_list as from lake.file_list;

-- The last attempt at each artifact, whichever source named it.
create view last_file_attempts as
select artifact_key, unnest(last)
from (
    select
        artifact_key,
        arg_max(
            struct_pack(
                source := source, batch := batch, name := name, artifact_id := artifact_id, status := status,
                reason := reason, attempts := attempts, error := error, due_at := due_at, version := version,
                fetched_at := fetched_at
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from lake.files
    group by all
);

-- The last attempt at each version of an artifact. Two lists may state two versions of one artifact.
create view last_version_attempts as
select artifact_key, version, unnest(last)
from (
    select
        artifact_key, version,
        arg_max(
            struct_pack(
                source := source, batch := batch, name := name, status := status, reason := reason,
                attempts := attempts, error := error, due_at := due_at, fetched_at := fetched_at
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from lake.files
    where version is not null
    group by all
);

-- What was tried last of each artifact that is listed, and of each version that is listed too. A wiki's file that
-- is replaced before it is fetched is another artifact: nobody can fetch the former one any more.
create view standing_file_attempts as
select artifact_key, source, batch, name, status, attempts, error, fetched_at
from last_file_attempts
semi join lake.file_list using (artifact_key)
union
select artifact_key, source, batch, name, status, attempts, error, fetched_at
from last_version_attempts
semi join lake.file_list using (artifact_key, version);

-- The bytes that the lake holds of each artifact: those of the last attempt that gave any.
create view held_files as
select artifact_key, unnest(last)
from (
    select
        artifact_key,
        arg_max(
            struct_pack(
                sha256 := sha256, sha1 := sha1, size_bytes := size_bytes, mime := mime, stated_mime := stated_mime,
                url := url, resolver := resolver, etag := etag, last_modified := last_modified,
                fresh_until := fresh_until,
                checked_at := fetched_at, stored_at := stored_at
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from lake.files
    where status = 'ok'
    group by all
);

-- Every name that a source lists, whether its artifact was fetched, and if not, why.
create view file_frontier as
with requeues as (
    select source, title as name, max(decided_at) as decided_at from lake.decisions where kind = 'requeue' group by all
),
in_flight as (select distinct artifact_key from lake.file_batches anti join lake.files using (batch)),
tried as (
    select
        artifact_key, version, fetched_at as tried_at,
        struct_pack(
            status := status, attempts := attempts, error := error, due_at := due_at, fetched_at := fetched_at
        ) as last
    from last_version_attempts
),
-- When a version was last tried that no list states any more. A version that was tried before that is fetched again.
replaced as (
    select artifact_key, max(tried_at) as tried_at
    from tried
    anti join lake.file_list using (artifact_key, version)
    group by all
),
-- Addresses that were stated for an artifact when it was asked for in vain, without their queries: a signature in
-- one may be another in each listing.
vain as (
    select distinct artifact_key, split_part(url, '?', 1) as place
    from lake.file_batches
    semi join (from lake.files where status in ('missing', 'refused')) using (batch, artifact_key)
),
known as (
    select
        listed.*,
        coalesce(getvariable('now')::timestamptz, now()) as present,
        case
            when tried.last is not null then tried.last
            when last.artifact_key is not null then struct_pack(
                status := last.status, attempts := last.attempts, error := last.error, due_at := last.due_at,
                fetched_at := last.fetched_at
            )
        end as attempt,
        attempt['status'] as last_status, attempt['attempts'] as attempts, attempt['error'] as error,
        attempt['fetched_at'] as asked_at, attempt['due_at'] as next_try_at,
        held.sha256 as held_sha256, held.url as held_url, held.etag as held_etag,
        held.last_modified as held_last_modified, held.fresh_until as held_fresh_until, held.checked_at,
        last.artifact_key is not null and listed.version is not null
            and coalesce(tried.tried_at <= replaced.tried_at, tried.tried_at is null) as is_changed,
        last_status in ('missing', 'refused') and listed.url is not null and vain.place is null as is_elsewhere,
        coalesce(requeue.decided_at >= asked_at, false) as is_requeued,
        in_flight.artifact_key is not null as is_in_flight
    from lake.file_list as listed
    left join last_file_attempts as last using (artifact_key)
    left join held_files as held using (artifact_key)
    left join tried on tried.artifact_key = listed.artifact_key and tried.version = listed.version
    left join replaced on replaced.artifact_key = listed.artifact_key
    left join vain on vain.artifact_key = listed.artifact_key and vain.place = split_part(listed.url, '?', 1)
    left join in_flight using (artifact_key)
    left join requeues as requeue on requeue.source = listed.source and requeue.name = listed.name
)
select
    source, name, artifact_id, artifact_key, position, url, size_bytes, sha1, sha256, mime, fields, version,
    case
        when is_in_flight then 'in flight'
        when last_status is null or is_changed or is_elsewhere or (is_requeued and last_status <> 'ok') then 'pending'
        when last_status = 'ok' then 'done'
        when last_status <> 'failed' then last_status
        -- A due time later than the longest delay came from a clock that was ahead.
        when next_try_at > present and next_try_at <= present + interval 1 day then 'waiting'
        else 'pending'
    end as status,
    case
        when status <> 'pending' then null
        when last_status is null then 'new'
        when is_changed or is_elsewhere then 'changed'
        when last_status = 'failed' then 'retry'
        else 'requeue'
    end as reason,
    case when status = 'waiting' then next_try_at end as due_at,
    case when last_status = 'failed' then attempts else 0 end as failures,
    error, asked_at, checked_at, held_sha256, held_url, held_etag, held_last_modified, held_fresh_until
from known;

-- One row an artifact: its state, its bytes, and where they came from. An artifact that no list names any more stays.
create view files as
with listed as (
    select
        artifact_key, any_value(artifact_id) as artifact_id, arg_min(source, (position, source)) as source,
        arg_min(name, (position, source)) as name, list(distinct name order by name) as names,
        arg_min(status, (position, source)) as status, arg_min(due_at, (position, source)) as due_at,
        first(version order by position, source) as version
    from file_frontier
    group by artifact_key
)
select
    coalesce(listed.source, last.source) as source,
    coalesce(listed.name, last.name) as name,
    artifact_key,
    coalesce(listed.artifact_id, last.artifact_id) as artifact_id,
    case when listed.artifact_key is null then 'unlisted' when listed.status = 'done' then 'ok' else listed.status end
        as state,
    held.mime, held.size_bytes, held.sha256, held.sha1, held.url, held.resolver, held.stored_at, held.checked_at,
    coalesce(tried.reason, last.reason) as reason, coalesce(tried.attempts, last.attempts) as attempts,
    if(tried.artifact_key is null, last.error, tried.error) as error, listed.due_at,
    coalesce(tried.batch, last.batch) as batch, coalesce(listed.names, [last.name]) as names
from listed
full join last_file_attempts as last using (artifact_key)
left join last_version_attempts as tried
    on tried.artifact_key = listed.artifact_key and tried.version = listed.version
left join held_files as held using (artifact_key);

-- Each address that was tried for an artifact, and what became of it.
create view file_attempts as
select
    source, batch, name, artifact_id, artifact_key, place, candidate.resolver, candidate.url, candidate.verb,
    candidate.outcome, candidate.reason, candidate.http_status, candidate.bytes, candidate.resumed_from,
    candidate.latency_ms, candidate.started_at, candidate.error
from (
    select
        source, batch, name, artifact_id, artifact_key,
        generate_subscripts(candidates, 1) as place, unnest(candidates) as candidate
    from lake.files
);

-- Which page, and which entity, uses which file, and in which role.
create view file_uses as
select
    uses.source, uses.title, uses.title_key, uses.role, uses.name, uses.caption, uses.position, uses.batch,
    entity.entity_id, entity.entity_type, entity.state as entity_state
from lake.file_uses as uses
join current_answers as current on uses.batch = current.batch and uses.title_key = current.title_key
-- By the page's id, too: another page may be at the title of an entity whose page is gone.
left join (
    select entity_id, entity_type, state, source, title_key, page_id
    from entities
    where state not in ('merged', 'suppressed')
    qualify row_number() over (partition by source, title_key, page_id order by entity_id) = 1
) as entity
    on entity.source = uses.source and entity.title_key = uses.title_key
    and entity.page_id is not distinct from current.page_id;

-- Addresses that references cite, each with the number of pages that do.
create view cited_urls as
select source, name as url, count(*) as pages, min(title) as first_page
from file_uses
where role = 'reference'
group by source, name;

-- The files of an entity: those that its page uses and the lake holds.
create view entity_files as
select
    uses.entity_id, uses.entity_type, uses.source, uses.title, uses.title_key, uses.role, uses.name, uses.caption,
    uses.position, listed.artifact_id, held.mime, held.size_bytes, held.sha256, held.url
from file_uses as uses
join lake.file_list as listed on listed.name = uses.name and list_contains(listed.pages_of, uses.source)
join held_files as held using (artifact_key)
where uses.entity_id is not null
qualify row_number() over (partition by uses.entity_id, uses.role, uses.name order by listed.source) = 1;
