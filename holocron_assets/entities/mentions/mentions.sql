-- What the names in table `said` mean, each list page's by itself: a page that the list links to, a page of that
-- title, a redirect; in this order. What none of them knows is the name itself.

-- A name without accents. As in names.py, marks of other scripts make other letters: "राम" is not "रोम".
create or replace temp macro alphabets() as '\p{Latin}\p{Greek}\p{Cyrillic}\p{Hebrew}\p{Arabic}\p{Common}';
create or replace temp macro unaccented(name) as array_to_string(list_transform(
    regexp_extract_all(nfc_normalize(name), '(?:[' || alphabets() || ']\p{M}*)+|[^' || alphabets() || ']+'),
    lambda part: if(regexp_matches(part, '^[' || alphabets() || ']'), strip_accents(part), part)
), '');

-- A name without case, accents, apostrophes, punctuation and variants of characters; its words stay apart.
create or replace temp macro plain(name) as trim(regexp_replace(
    regexp_replace(lower(unaccented(name)), '[\p{Cf}''’`".\x{fe00}-\x{fe0f}\x{e0100}-\x{e01ef}]', '', 'g'),
    '[^\p{L}\p{N}\p{M}]+', ' ', 'g'
));

-- The same without what tells things of one name apart: "Kettle (droid)" is a Kettle.
create or replace temp macro bare(name) as plain(regexp_replace(name, '\s*\([^()]*\)\s*$', ''));

create or replace temp macro contradict(one, other) as
    coalesce(one in ('canon', 'legends') and other in ('canon', 'legends') and one <> other, false);

-- Every article, and whether its own type says that it is no entity.
create or replace temp table articles as
select
    signals.source, signals.title, signals.title_key, signals.continuity,
    plain(signals.name) as plain_name,
    bare(signals.name) as bare_name,
    signals.is_redirect,
    split_part(signals.redirect_target, '#', 1) as leads_to,
    coalesce(contains(signals.redirect_target, '#'), false) as to_section,
    candidates.entity_type,
    candidates.entity_type is null and (
        signals.is_disambiguation or signals.is_list or coalesce(types.confidence >= getvariable('sure_enough'), false)
    ) as is_other
from lake.page_signals as signals
semi join present_answers as present
    on signals.batch = present.batch and signals.title_key = present.title_key
left join present_candidates as candidates
    on signals.batch = candidates.batch and signals.title_key = candidates.title_key
left join lake.page_types as types
    on signals.batch = types.batch and signals.title_key = types.title_key
where signals.namespace = 0;

-- Where each title leads in the end: itself, or what its redirects lead to, fetched or not. Of redirects in a circle
-- none leads anywhere, nor does one to another wiki.
create or replace temp table destinations as
with recursive led as (
    select source, title, title as destination, false as to_section, is_redirect, 0 as hops from articles
    union all
    select
        led.source, led.title, step.leads_to, led.to_section or step.to_section,
        coalesce(following.is_redirect, false), led.hops + 1
    from led
    join articles as step on step.source = led.source and step.title = led.destination
    left join articles as following on following.source = led.source and following.title = step.leads_to
    where led.is_redirect and led.hops < 8
)
select
    led.source, led.destination, led.to_section,
    named.title, named.title_key, named.plain_name, named.bare_name, named.is_redirect,
    page.entity_type,
    coalesce(page.continuity, 'unknown') as continuity,
    coalesce(page.is_other, false) as is_other
from led
join articles as named using (source, title)
left join articles as page on page.source = led.source and page.title = led.destination
where not led.is_redirect and led.destination is not null;

create or replace temp table wanted as
select *, plain(name) as plain_name from said;

-- 1: what the list links to and that is called so: by its title, by a redirect's, or with the ending that a list
-- writes behind a link ("[[Human]]s"). One whose title is the name is meant before one that a suffix tells apart; of
-- several, the one of the type that the model says. All that each link may be called is written down once a list, so
-- that names find it by equality: comparing each name of a list with each link would take the square of its length.
create or replace temp table meant_by_link as
with lists as (select distinct source, batch, list_key from wanted),
linked as materialized (
    select distinct
        lists.source, lists.batch, lists.list_key,
        coalesce(known.destination, links.target) as destination,
        coalesce(known.to_section, false) as to_section,
        coalesce(known.plain_name, plain(links.target)) as linked_name,
        coalesce(known.bare_name, bare(links.target)) as linked_bare,
        known.entity_type
    from lists
    join lake.page_links as links on links.batch = lists.batch and links.from_key = lists.list_key
    left join destinations as known on known.title_key = links.target_key
    where links.kind = 'link' and links.target_namespace = 0
),
redirect_names as (
    select distinct source, destination, plain_name as redirect_name
    from destinations
    where is_redirect and not to_section
),
called as (
    select batch, list_key, destination, to_section, entity_type, linked_name as plain_name, true as in_full
    from linked
    union all
    select batch, list_key, destination, to_section, entity_type, redirect_name, true
    from linked
    join redirect_names using (source, destination)
    union all
    select
        batch, list_key, destination, to_section, entity_type,
        unnest([linked_bare, linked_name || 's', linked_name || 'es']), false
    from linked
),
called_so as (
    select
        wanted.number, called.destination, called.to_section, called.in_full,
        coalesce(called.entity_type = wanted.said_type, false) as fits
    from wanted
    join called using (batch, list_key, plain_name)
),
best as (
    select number, destination, bool_and(to_section) as to_section, bool_or(fits) as fits
    from called_so
    group by number, destination
    qualify bool_or(in_full) = max(bool_or(in_full)) over (partition by number)
)
select
    number,
    case when count(*) = 1 then any_value(destination) else any_value(destination) filter (fits) end
        as destination,
    bool_and(to_section) as to_section
from best
group by number
having count(*) = 1 or count(*) filter (fits) = 1;

-- 2: a page of this title. The list's continuity decides between a canon and a Legends page. Of pages that a suffix
-- tells apart, the only one of the type that the model says.
create or replace temp table meant_by_title as
with called_so as (
    select
        number, destination, true as in_full, pages.continuity, wanted.continuity as list_continuity,
        pages.title = wanted.name as is_written_so
    from wanted
    join destinations as pages using (source, plain_name)
    where not pages.is_redirect and not pages.is_other
    union all
    select number, destination, false, pages.continuity, wanted.continuity, false
    from wanted
    join destinations as pages
        on pages.source = wanted.source
        and pages.bare_name = wanted.plain_name
        and pages.entity_type = wanted.said_type
    where not pages.is_redirect
),
best as (
    select distinct number, destination
    from called_so
    where not contradict(continuity, list_continuity)
    qualify rank() over (
        partition by number order by in_full desc, continuity = list_continuity desc, is_written_so desc
    ) = 1
)
select number, any_value(destination) as destination from best group by number having count(*) = 1;

-- 3: a redirect of this title.
create or replace temp table meant_by_redirect as
with called_so as (
    select
        number, destination, to_section, pages.continuity, wanted.continuity as list_continuity,
        pages.title = wanted.name as is_written_so
    from wanted
    join destinations as pages using (source, plain_name)
    where pages.is_redirect
),
best as (
    select distinct number, destination, to_section
    from called_so
    where not contradict(continuity, list_continuity)
    qualify rank() over (
        partition by number order by continuity = list_continuity desc, is_written_so desc
    ) = 1
)
select number, any_value(destination) as destination, bool_and(to_section) as to_section
from best
group by number
having count(distinct destination) = 1;

create or replace temp table meant as
select
    wanted.number,
    case
        when linked.number is not null then 'link'
        when titled.number is not null then 'title'
        when redirected.number is not null then 'redirect'
        else 'name'
    end as method,
    coalesce(linked.destination, titled.destination, redirected.destination, wanted.title) as title,
    case method when 'link' then linked.to_section when 'redirect' then redirected.to_section else false end
        as to_section
from wanted
left join meant_by_link as linked using (number)
left join meant_by_title as titled using (number)
left join meant_by_redirect as redirected using (number);
