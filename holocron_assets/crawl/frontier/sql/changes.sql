-- The changes that wikis reported, and when a change needs no fetch any more.

-- Times of a wiki's own clocks differ by less than five minutes.
create or replace view crawl.changes as
select *, changed_at + interval 5 minute as surely_at
from crawl.reported;

-- A change with a revision is settled if an answer has that revision or a newer one. If the wiki no longer has the
-- revision, a request that is clearly later than the change settles it. Any other change is settled by a request
-- that was clearly made after the change, or after the report if its answer does not contradict that: a copy of the
-- wiki's database may lag behind. A clearly later request without an answer counts too: the page is tried again, or
-- is dead until it changes again.
create or replace macro is_settled(
    kind, reported_revision, seen_at, surely_at, asked_at, answered_status, answered_revision
) as
case
    when kind in ('edit', 'new') and reported_revision is not null
        -- A request time in the future came from a wrong clock and does not count; the revision does.
        then (asked_at >= surely_at and asked_at <= coalesce(getvariable('now')::timestamptz, now()))
            or coalesce(answered_status = 'ok' and answered_revision >= reported_revision, false)
    else asked_at >= surely_at
        or (asked_at >= seen_at and answered_status is distinct from if(kind = 'delete', 'ok', 'missing'))
end;
