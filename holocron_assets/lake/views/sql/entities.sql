-- The knowledge base: candidates, entities, their identity, and statements about them.

create view entity_candidates as
select candidates.*
from lake.entity_candidates as candidates
semi join current_answers as current
    on candidates.batch = current.batch and candidates.title_key = current.title_key;

create view entity_history as from lake.entities;

-- One row for each id, in the type that it has now. A retyped page leaves a suppressed row in its old type. Only ids
-- with several rows are compared, and these are few.
create view entities as
with several as (
    select entity_id from lake.entities where valid_to is null group by entity_id having count(*) > 1
),
left_behind as (
    select entity_id, entity_type
    from lake.entities
    semi join several using (entity_id)
    where valid_to is null
    qualify row_number() over (
        partition by entity_id order by state = 'suppressed', valid_from desc, entity_type
    ) > 1
)
from lake.entities
anti join left_behind using (entity_id, entity_type)
where valid_to is null;

-- Entities that a person should check.
create view entity_reviews as
select
    entity_id, entity_type, source, title, title_key, page_id, revision_id, state, review_reason, review_since
from entities
where review_reason is not null;

-- Merged entities, and the entity that each is now. Old ids are found here for ever. This includes entities that a
-- machine merged and that no page and no list names any more, unless a person keeps them apart.
create view entity_forwards as
with last_stood as (
    from lake.entities
    semi join (select entity_id from lake.entities where state = 'merged') using (entity_id)
    where state <> 'suppressed'
    qualify row_number() over (partition by entity_id order by valid_from desc, entity_type) = 1
)
select
    was.entity_id, coalesce(survivors.merged_into, was.merged_into) as merged_into, was.entity_type, was.source,
    was.name, was.title, was.title_key, was.state_by, was.state_reason, was.state_at
from last_stood as was
join entities as now using (entity_id)
left join entities as survivors on survivors.entity_id = was.merged_into
where was.state = 'merged' and (
    now.state = 'merged'
    or (
        now.state = 'suppressed'
        and not starts_with(now.state_by, 'person:')
        and not starts_with(was.state_by, 'person:')
        and not exists (
            from lake.entity_judgements as judged
            where judged.judgement = 'different'
                and least(was.entity_id, was.merged_into) = judged.first_id
                and greatest(was.entity_id, was.merged_into) = judged.second_id
        )
    )
);

create view entity_aliases as from lake.entity_aliases;

-- Every fact, whatever its status.
create view all_entity_facts as from lake.entity_facts;

-- Facts that are stated or that people accepted.
create view entity_facts as from lake.entity_facts where status in ('stated', 'accepted');

-- Every relation, whatever its status.
create view all_entity_relations as from lake.entity_relations;

-- Relations that are stated or that people accepted.
create view entity_relations as from lake.entity_relations where status in ('stated', 'accepted');

-- How many statements about an entity have each status.
create view statement_counts as
select entity_id, status, count(*) as statements
from (
    select entity_id, status from lake.entity_facts
    union all
    select from_id, status from lake.entity_relations
)
group by all;

-- What models call facts and relations, and the vocabulary lacks: the most frequent first.
create view unmapped_keys as
select kind, said_key, count(*) as statements, count(distinct title_key) as pages, any_value(evidence) as example
from (
    select 'fact' as kind, fact_key as said_key, title_key, evidence from lake.entity_facts where status = 'unmapped'
    union all
    select 'relation', relation, title_key, evidence from lake.entity_relations where status = 'unmapped'
)
group by all
order by statements desc, kind, said_key;

create view entity_pairs as from lake.entity_pairs;

create view entity_judgements as from lake.entity_judgements;

-- Names in list pages, with the entity that each means; if that entity was merged, the one that it is now.
create view entity_mentions as
with meant as (
    select
        entities.title_key,
        arg_min(coalesce(merged_into, entity_id), struct_pack(gone := state = 'suppressed', id := entity_id))
            as entity_id
    from entities
    left join current_answers as current using (source, title_key)
    -- Another page may be at the title of an entity whose page moved or is gone.
    where current.page_id is null or entities.page_id is null or current.page_id = entities.page_id
    group by entities.title_key
)
select mentions.*, meant.entity_id
from lake.entity_mentions as mentions
left join meant on mentions.means_key = meant.title_key;
