-- How many titles, pages, entities, questions to people and questions to models are at which stage, and why.

create or replace view processing_status as
select 'pages' as stage, source, status, reason, count(*) as titles, min(due_at) as next_due_at
from (
    select source, status, due_at, case when status in ('skipped', 'pending') then reason end as reason
    from frontier
)
group by all
union all
select
    'page_types', types.source,
    case when types.needs_review then 'needs review' else 'settled' end, types.primary_type, count(*), null
from page_types as types
group by all
union all
select 'entities', source, state, entity_type, count(*), null
from entities
group by all
union all
select 'entity_reviews', source, 'needs review', entity_type, count(*), null
from entity_reviews
group by all
union all
select 'needs_review', source, 'open', kind, count(*), null
from needs_review
group by all
union all
select 'interrogations', source, status, interrogation, count(*), min(due_at)
from llm_runs
group by all
order by all;
