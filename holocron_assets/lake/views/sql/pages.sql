-- Pages: the outcomes of requests for them, and the rows made from the pages that count now.

create view pages as from lake.pages;

-- Each request's outcome without what was read. Several of the views below read it: a database that is asked much
-- at once has it as a table, and opens each file only once.
create view page_outcomes as
select
    source, batch, position, requested_title, requested_key, title, title_key, namespace, page_id, depth,
    redirect_target, status, http_status, attempts, error, due_at, fetched_at, revision_id, revision_at
from lake.pages;

-- Answers with their time: for a dump that of the revision, for a wiki that of the answer. No two are equal.
create view answers as
select
    source, title_key, page_id, batch, position, status,
    struct_pack(
        as_of := case when http_status is null then coalesce(revision_at, fetched_at) else fetched_at end,
        fetched_at := fetched_at,
        revision_id := coalesce(revision_id, 0),
        batch := batch,
        earlier := -position
    ) as moment
from page_outcomes
where status in ('ok', 'missing', 'invalid');

-- Answers that do not count any more: the title has a newer one, or its page was found at another title later. A
-- page keeps its id when it moves; the page that a move leaves at the old title is another page. Only titles with
-- several answers are compared, and these are few.
create view superseded_answers as
with keys as materialized (
    select source, title_key, page_id, status = 'ok' as is_ok
    from page_outcomes
    where status in ('ok', 'missing', 'invalid')
),
titles_answered_again as (select title_key from keys group by title_key having count(*) > 1),
pages_found_again as (
    select source, page_id from keys where is_ok and page_id is not null group by all having count(*) > 1
)
select batch, position
from answers
where title_key in (from titles_answered_again) or (source, page_id) in (from pages_found_again)
qualify
    row_number() over (partition by source, title_key order by moment desc) > 1
    or (
        status = 'ok'
        and page_id is not null
        and row_number() over (partition by source, page_id, status = 'ok' order by moment desc) > 1
    );

-- Pages that were read, but of which the batch has no answer that counts any more.
create view superseded_pages as
with gone as materialized (from superseded_answers)
select batch, title_key
from answers left join gone using (batch, position)
where batch in (select batch from gone)
group by batch, title_key
having count(gone.batch) = count(*);

-- The answer that counts for each title: the newest.
create view current_answers as
select source, title_key, page_id, batch, position
from answers
anti join superseded_answers using (batch, position)
where status = 'ok';

create view current_pages as
from lake.pages
anti join superseded_answers using (batch, position)
where status = 'ok';

-- Pages as they are now, with their addresses. A wiki states the path of its pages; a dump, and a wiki that an earlier
-- version asked, only its main page, which then counts as one of them.
create view source_pages as
select
    pages.source, pages.title, pages.title_key, pages.namespace, pages.page_id,
    replace(
        sites.form, '$1', replace(replace(url_encode(replace(pages.title, ' ', '_')), '%2F', '/'), '%3A', ':')
    ) as url,
    pages.revision_id, pages.revision_at, pages.sha1, pages.content_hash, pages.content_model, pages.size_bytes,
    pages.redirect_target, pages.categories, pages.links, pages.wikitext, pages.batch, pages.fetched_at
from current_pages as pages
left join (
    select
        source,
        case
            when starts_with(article_path, '/') and contains(article_path, '$1')
                then regexp_extract(base_url, '^[^/]*//[^/]*') || article_path
            else regexp_replace(base_url, '[^/=]*$', '') || '$1'
        end as form
    from lake.sites
) as sites using (source);

create view page_links as from lake.page_links;

create view page_signals as from lake.page_signals;

-- A wiki takes the name of a template or category with any first letter, and with underscores for spaces. As in
-- `shared_title` of `classify/decided_types.py`: the letters named here have capitals for DuckDB, and none in titles.
create view shared_by_articles as
select
    source, batch, title, title_key, kind,
    if(kind = 'template', 'Template:', 'Category:')
    || if(
        regexp_matches(
            name[1],
            '[ß\x{10d0}-\x{10ff}\x{1f80}-\x{1f87}\x{1f90}-\x{1f97}\x{1fa0}-\x{1fa7}\x{1fb3}\x{1fc3}\x{1ff3}]'
        ),
        name[1], upper(name[1])
    )
    || name[2:] as shared
from (
    select
        source, batch, title, title_key, kind,
        trim(regexp_replace(name, '[\s_[:cntrl:]]+', ' ', 'g')) as name
    from (
        select source, batch, title, title_key, namespace, is_redirect, 'template' as kind, infobox_template as name
        from lake.page_signals
        union all
        select source, batch, title, title_key, namespace, is_redirect, 'category', unnest(categories)
        from lake.page_signals
    )
    where namespace = 0 and not is_redirect and name <> ''
)
semi join current_answers as current using (batch, title_key)
group by all;

create view rule_classifications as from lake.rule_classifications;

create view page_types as
select types.*
from lake.page_types as types
semi join current_answers as current
    on types.batch = current.batch and types.title_key = current.title_key;

create view type_model as from lake.type_model;

create view type_predictions as
select predictions.*
from lake.type_predictions as predictions
semi join current_answers as current
    on predictions.batch = current.batch and predictions.title_key = current.title_key;

create view type_proposals as from lake.type_proposals;

create view page_facts as
select facts.*
from lake.page_facts as facts
semi join current_answers as current
    on facts.batch = current.batch and facts.title_key = current.title_key;

create view sites as from lake.sites;

-- The last attempt at each requested title.
create view last_attempts as
select source, title_key, unnest(last)
from (
    select
        source,
        requested_key as title_key,
        arg_max(
            struct_pack(
                title := requested_title, status := status, attempts := attempts, error := error,
                due_at := due_at, fetched_at := fetched_at, revision_id := revision_id, depth := depth,
                namespace := namespace, batch := batch
            ),
            struct_pack(fetched_at := fetched_at, batch := batch)
        ) as last
    from page_outcomes
    group by all
);

-- The passages of pages as they are now.
create view passages as
select chunks.*
from lake.page_chunks as chunks
semi join current_answers as current on chunks.batch = current.batch and chunks.title_key = current.title_key;
