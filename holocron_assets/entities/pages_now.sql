-- What became of the pages that entities were last read from (not of mentions, which no page is about): of those that are no candidates under their title
-- any more, and of those whose title had no page, or a redirect only, in between.
with entities as (
    from lake.entities where valid_to is null and origin = 'page'
),
titles_absent as (
    select pages.batch, pages.position
    from page_outcomes as pages
    semi join entities on pages.title_key = entities.title_key
    where pages.status in ('missing', 'invalid') or pages.redirect_target is not null
),
absent as (
    select answers.source, answers.title_key, max(answers.moment) as moment
    from answers
    semi join titles_absent using (batch, position)
    group by all
),
absent_since as (
    select distinct entities.entity_type, entities.entity_id
    from entities
    join absent on absent.source = entities.source and absent.title_key = entities.title_key
    join answers as read on read.batch = entities.batch and read.title_key = entities.title_key
    where read.status = 'ok' and absent.moment > read.moment
),
asked as (
    select entity_type, entity_id, source, title_key, page_id, since.entity_id is not null as was_absent
    from entities
    left join absent_since as since using (entity_type, entity_id)
    where was_absent or not exists (
        from present_candidates as candidates
        where candidates.entity_type = entities.entity_type
            and candidates.title_key = entities.title_key
            and candidates.page_id is not distinct from entities.page_id
    )
),
-- A page keeps its id when it moves; what a move leaves behind at its title is another page.
found as (
    select asked.entity_type as held_as, asked.entity_id, 1 as place, pages.batch, pages.position
    from asked
    join page_outcomes as pages using (source, page_id)
    semi join present_answers as present using (batch, position)
    union all
    select asked.entity_type, asked.entity_id, 2, present.batch, present.position
    from asked
    join present_answers as present using (source, title_key)
)
select
    asked.entity_type as held_as, asked.entity_id, asked.was_absent,
    pages.title, pages.title_key, pages.page_id, pages.revision_id, pages.redirect_target,
    coalesce(types.primary_type, asked.entity_type) as entity_type,
    coalesce(types.confidence, 0) as confidence,
    coalesce(types.method, 'rules') as method,
    types.model,
    types.learned_type
from asked
left join found on found.held_as = asked.entity_type and found.entity_id = asked.entity_id
left join page_outcomes as pages using (batch, position)
left join lake.page_types as types on types.batch = pages.batch and types.title_key = pages.title_key
qualify row_number() over (partition by asked.entity_type, asked.entity_id order by found.place) = 1;
