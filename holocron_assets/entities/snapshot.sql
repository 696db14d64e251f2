-- One snapshot of the lake: what entities and their names are made from, each read once however many types there are.

create temp table present_answers as
select source, title_key, batch, position from current_answers;

create temp table present_signals as
select
    signals.source, signals.page_id, signals.title, signals.title_key, signals.name, signals.revision_id,
    signals.redirect_target, signals.is_redirect
from lake.page_signals as signals
semi join present_answers as present
    on signals.batch = present.batch and signals.title_key = present.title_key
where signals.page_id is not null or (signals.is_redirect and signals.redirect_target is not null);

-- Where each page is now. What is said on it is said of the entity that was read from it, by the page's id: an entity
-- may stand under a title that another page has since.
create temp table present_pages as
select source, page_id, title, title_key from present_signals where page_id is not null;

-- The title that statements about an entity stand under: that of its page now, or else the one that it had. It has
-- none if its page is gone and another page is there: what that one says is not said of the entity.
create temp macro title_key_now(of_page, own, own_page) as coalesce(
    of_page, if(own_page is null or own not in (select title_key from present_pages), own, null)
);

create temp table present_candidates as
select candidates.*
from lake.entity_candidates as candidates
semi join present_answers as present
    on candidates.batch = present.batch and candidates.title_key = present.title_key;

create temp table present_redirects as
select source, title as from_title, title_key, name, revision_id, redirect_target as target_title
from present_signals
where is_redirect and redirect_target is not null;

drop table present_signals;
