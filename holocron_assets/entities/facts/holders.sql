-- Which entity each title and each name stands for: what statements about pages become statements about entities by.

-- Every record as it stands: one row an id, under the title that its page has now. Suppressed ones say nothing, and
-- nothing leads to them.
create or replace temp table records as
select
    entities.entity_id, entities.entity_type, entities.source, entities.name, entities.continuity,
    coalesce(pages.title, entities.title) as title,
    title_key_now(pages.title_key, entities.title_key, entities.page_id) as title_key,
    pages.page_id is not null as is_its_page,
    coalesce(entities.merged_into, entities.entity_id) as now_id
from ({entities}) as entities
left join present_pages as pages using (source, page_id)
where entities.valid_to is null and entities.state <> 'suppressed'
qualify row_number() over (
    partition by entities.entity_id order by entities.valid_from desc, entities.entity_type
) = 1;

-- The entity that each title stands for now: the one that was read from its page, else one that only is called so.
create or replace temp table holders as
select records.title_key, records.source, records.title, records.name, records.continuity,
    now.entity_id, now.entity_type
from records
join records as now on now.entity_id = records.now_id
where records.title_key is not null
qualify row_number() over (
    partition by records.title_key order by records.is_its_page desc, records.entity_id
) = 1;

-- Names that only one entity of a source goes by, among those of a continuity and those of none.
create or replace temp table known_names as
with named as (
    select aliases.source, lower(aliases.alias) as name, now.entity_id, now.entity_type, now.continuity
    from ({aliases}) as aliases
    join records as now on now.entity_id = aliases.entity_id
)
select source, name, side, any_value(entity_id) as entity_id, any_value(entity_type) as entity_type
from named, (values ('canon', 'legends'), ('legends', 'canon'), ('', '')) as sides (side, other)
where continuity <> other
group by source, name, side
having count(distinct entity_id) = 1;
