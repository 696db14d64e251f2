-- Every title that is known: from `crawl.compacted`, and from the rows that are newer.

create or replace $relation crawl.additions as
select
    coalesce(seeds.source, standing.source, asked.source, unasked.source) as source,
    title_key,
    coalesce(seeds.title, standing.title, asked.title, unasked.title) as title,
    coalesce(seeds.namespace, standing.namespace, asked.namespace, unasked.namespace) as namespace,
    seeds.title_key is not null as is_seed,
    seeds.ordinal, seeds.revision_id as wanted_revision, seeds.listed_at,
    seeds.title_key is not null or standing.title_key is not null as is_start,
    if(is_start, 0, reached.depth) as depth,
    if(is_start, null, reached.via_key) as via_key,
    asked.status, asked.attempts, asked.error, asked.due_at, asked.asked_at,
    asked.answered_at, asked.answered_status, asked.answered_revision
from crawl.new_seeds as seeds
full join crawl.standing_titles as standing using (title_key)
full join crawl.asked as asked using (title_key)
full join crawl.unasked as unasked using (title_key)
full join crawl.reached as reached using (title_key);

create or replace view known_titles as
select * exclude (asked_again, answered_again, is_nearer)
from (
    select
        coalesce(after.asked_at >= before.asked_at, after.asked_at is not null) as asked_again,
        coalesce(after.answered_at >= before.answered_at, after.answered_at is not null) as answered_again,
        coalesce(after.depth < before.depth, after.depth is not null) as is_nearer,
        coalesce(before.source, after.source) as source,
        title_key,
        coalesce(before.title, after.title) as title,
        coalesce(before.namespace, after.namespace) as namespace,
        coalesce(before.is_seed, false) or coalesce(after.is_seed, false) as is_seed,
        coalesce(after.ordinal, before.ordinal) as ordinal,
        coalesce(after.wanted_revision, before.wanted_revision) as wanted_revision,
        coalesce(after.listed_at, before.listed_at) as listed_at,
        if(is_nearer, after.depth, before.depth) as depth,
        if(is_nearer, after.via_key, before.via_key) as via_key,
        coalesce(before.inbound, 0) + coalesce(linked.inbound, 0) as inbound,
        if(asked_again, after.status, before.status) as status,
        if(asked_again, after.attempts, before.attempts) as attempts,
        if(asked_again, after.error, before.error) as error,
        if(asked_again, after.due_at, before.due_at) as due_at,
        if(asked_again, after.asked_at, before.asked_at) as asked_at,
        if(answered_again, after.answered_at, before.answered_at) as answered_at,
        if(answered_again, after.answered_status, before.answered_status) as answered_status,
        if(answered_again, after.answered_revision, before.answered_revision) as answered_revision,
        -- Its own links are nearer now too, or within depth for the first time, but they are not among the new rows.
        coalesce(is_nearer and before.answered_status = 'ok' and not answered_again, false) as is_shortcut
    from crawl.compacted as before full join crawl.additions as after using (title_key)
    left join crawl.linked as linked using (title_key)
);
