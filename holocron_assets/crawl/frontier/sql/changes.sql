-- What wikis told of their changes, and when there is nothing to fetch for one any more.

-- No clock of a wiki's is five minutes ahead or behind.
create or replace view crawl.changes as
select *, changed_at + interval 5 minute as surely_at
from crawl.told;

-- A revision says itself that an answer has it, unless the wiki has it no more: then asking clearly later tells.
-- Of other changes what was asked for is true if that was not before we were told, or clearly after the change.
-- Asking that gave no answer counts too: the page is tried again, or is dead until it changes again.
create or replace macro is_settled(
    kind, told_revision, seen_at, surely_at, asked_at, answered_status, answered_revision
) as
case
    when kind in ('edit', 'new') and told_revision is not null
        -- A clock that was ahead when it was asked tells nothing; the revision does.
        then (asked_at >= surely_at and asked_at <= coalesce(getvariable('now')::timestamptz, now()))
            or coalesce(answered_status = 'ok' and answered_revision >= told_revision, false)
    else asked_at >= least(seen_at, surely_at)
end;
