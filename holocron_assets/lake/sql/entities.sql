-- The knowledge base: candidates, entities, who is who, and what is told of them.

create view entity_candidates as
select candidates.*
from lake.entity_candidates as candidates
semi join current_answers as current
    on candidates.batch = current.batch and candidates.title_key = current.title_key;

create view entity_history as from lake.entities;

-- One row an id: in the type where it stands. A retyped page leaves a suppressed row in its old type. Only ids with
-- several rows are compared, which are few.
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

-- Entities that a person should look at.
create view entity_reviews as
select
    entity_id, entity_type, source, title, title_key, page_id, revision_id, state, review_reason, review_since
from entities
where review_reason is not null;

-- What was merged, and the entity that it is now. Old ids are found here for ever.
create view entity_forwards as
select
    entity_id, merged_into, entity_type, source, name, title, title_key, state_by, state_reason, state_at
from entities
where state = 'merged';

create view entity_aliases as from lake.entity_aliases;

create view entity_facts as from lake.entity_facts;

create view entity_relations as from lake.entity_relations;

create view entity_pairs as from lake.entity_pairs;

create view entity_judgements as from lake.entity_judgements;

-- Names in list pages, with the entity that each means: the one that its title's has become, if it was merged.
create view entity_mentions as
with meant as (
    select
        title_key,
        arg_min(coalesce(merged_into, entity_id), struct_pack(gone := state = 'suppressed', id := entity_id))
            as entity_id
    from entities
    group by title_key
)
select mentions.*, meant.entity_id
from lake.entity_mentions as mentions
left join meant on mentions.means_key = meant.title_key;
