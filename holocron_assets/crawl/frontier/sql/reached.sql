-- The distance of titles from the nearest seed, by the edges of new batches, where it is less than was known.

-- Seeds, pages of a wiki of which every page is wanted, and titles that were reached before.
create or replace view crawl.starts as
select title_key, 0 as depth from crawl.new_seeds
union all
select title_key, 0 from crawl.standing_titles
union all
select title_key, depth from crawl.compacted where depth is not null;

create or replace $relation crawl.steps as
-- Where the depth is unlimited, it is enough to know that a title is reached.
with distant as (
    select title_key, depth as known_depth
    from crawl.named left join crawl.settings using (source)
    where depth is null or (depth > 0 and max_depth is not null)
)
select from_key, target_key, length, farthest, known_depth
from crawl.edges join distant on distant.title_key = target_key
where coalesce(known_depth > length, true);

create or replace $relation crawl.reached as
with recursive reached (title_key, depth, via_key) using key (title_key) as (
    select title_key, min(depth), null::bigint
    from crawl.starts semi join crawl.steps as steps on steps.from_key = title_key
    group by title_key
    union
    $step
)
from reached;
