-- What every type's facts and relations are made from, read once however many types there are. `holders.sql` was run.

-- The same, and where redirects lead. One to a section names a part of a page, and leads to no entity.
create or replace temp table ends as
select title_key, source, title, entity_id, entity_type from holders
union all
select links.from_key, links.source, links.from_title, holders.entity_id, holders.entity_type
from lake.page_links as links
semi join present_answers as present on links.batch = present.batch and links.from_key = present.title_key
semi join present_redirects as redirects
    on redirects.title_key = links.from_key and not contains(redirects.target_title, '#')
join holders on holders.title_key = links.target_key
where links.kind = 'redirect' and links.from_key not in (select title_key from holders)
qualify row_number() over (partition by links.from_key order by links.target_key) = 1;

create or replace temp macro side_of(continuity) as
    case when continuity in ('canon', 'legends') then continuity else '' end;

-- What infoboxes of current pages say.
create or replace temp table infobox_facts as
select facts.*, holders.entity_id, holders.entity_type, holders.continuity
from lake.page_facts as facts
semi join present_answers as present on facts.batch = present.batch and facts.title_key = present.title_key
join holders on holders.title_key = facts.title_key
where facts.kind <> 'name';

-- Pages that several sources read from one wiki: each of them has one key in all.
create or replace temp table read_twice as
select title_key, min(title_key) over one_page as page_key
from present_pages
join wikis using (source)
window one_page as (partition by wiki, page_id)
qualify count(*) over one_page > 1;

-- Also by the pages of no entity: facts are made a type at a time, and must not depend on the entities of another.
create or replace temp table single_keys as
select distinct key
from lake.page_facts as facts
semi join present_answers as present on facts.batch = present.batch and facts.title_key = present.title_key
where is_single;

-- A source that says no language counts as English.
create or replace temp macro language_of(of_source) as
    coalesce((select any_value(language) from languages where source = of_source), 'en');

-- 'Infinity' and 'Nan' can be cast, but are names.
create or replace temp macro finite(number) as case when isfinite(number) then number end;

-- A value as a number, if it is one in figures. Where a comma marks decimals, points and spaces mark thousands.
create or replace temp macro number_of(said, of_source) as finite(try_cast(case
    when (select any_value(decimal) from languages where source = of_source) = ',' then replace(
        if(
            regexp_full_match(said, '-?[1-9]\d{0,2}([. \x{a0}\x{2009}\x{202f}]\d{3})+(,\d+)?'),
            regexp_replace(said, '[^\d,-]', '', 'g'),
            said
        ), ',', '.'
    )
    else replace(said, ',', '')
end as double));

create or replace temp table work_titles as
select source, title, min(entity_id) as entity_id from ends group by source, title;

-- What statement ids are made from where the present title will not do. A page that moved keeps its first title, so that
-- what people decided goes with it. The page that came there says its own, even if it says the same.
create or replace temp table named_in_ids as
with titled as (
    select
        pages.source, pages.page_id, pages.title_key, coalesce(moved.title, pages.title) as first_title,
        moved.title is not null as has_moved
    from present_pages as pages
    left join first_titles as moved using (source, page_id)
),
owners as (
    from first_titles qualify row_number() over (partition by source, title order by place) = 1
),
-- Earlier versions hashed the title of the day, and what people decided then names such ids. A title that another page
-- has or had says nothing of this one.
seen as (from answers where status = 'ok' and page_id is not null),
seen_moved as (from seen semi join first_titles using (source, page_id)),
shared as (
    select title_key from seen semi join seen_moved using (title_key)
    group by title_key having min(page_id) <> max(page_id)
),
former as (
    select seen_moved.source, seen_moved.page_id, list(distinct pages.title) as former_titles
    from seen_moved
    join page_outcomes as pages using (batch, position)
    where seen_moved.title_key not in (from shared)
    group by all
)
select
    titled.title_key, titled.first_title, former.former_titles,
    case when owners.page_id <> titled.page_id then 'page ' || titled.page_id end as of_page
from titled
left join former using (source, page_id)
left join owners on owners.source = titled.source and owners.title = titled.first_title
where titled.has_moved or of_page is not null;
