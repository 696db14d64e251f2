-- Relations of all entities: what infoboxes say, then sentences and models. An end is found by the title that the page
-- links to, and else by a name that only one entity goes by. `entity_relation_rows.sql` makes a type's rows of them.
create or replace temp view said_relations as
with stated as (
    select
        fact.entity_id as from_id, fact.entity_type, fact.continuity, fact.key as relation, fact.value as to_name,
        fact.target as to_title, fact.target_key, fact.qualifier, fact.calendar, fact.start_time, fact.end_time,
        fact.starts_from, fact.ends_to, fact.work, fact.source, fact.title, fact.title_key, fact.batch,
        fact.revision_id, fact.evidence, fact.evidence_start, fact.evidence_end, fact.supported,
        'infobox' as method, fact.rule_id, null::varchar as model, fact.confidence, fact.position, '' as subject,
        true as is_mapped, null::varchar as failed
    from infobox_facts as fact
    where fact.kind = 'relation'
    union all
    select
        from_id, entity_type, continuity, relation, to_name,
        to_title, to_key, null, calendar, start_time, end_time,
        starts_from, ends_to, work_context, source, title, title_key, batch,
        revision_id, evidence, null, null, supported,
        method, rule_id, model, confidence, 0, from_name, is_mapped, failed
    from model_relations
),
identified as (
    select
        -- Two stints are two. `concat_ws` leaves out what is missing, so a word stands for each.
        concat_ws(
            chr(31), subject, relation, to_name, coalesce(to_title, ''), coalesce(qualifier, ''), method,
            'since ' || nullif(start_time, ''), 'until ' || nullif(end_time, ''), 'in ' || nullif(work, '')
        ) as words,
        md5(concat_ws(chr(31), source, coalesce(first_title, title), words, of_page)) as relation_id,
        list_transform(former_titles, lambda former: md5(concat_ws(chr(31), source, former, words))) as former_ids,
        stated.*
    from stated
    left join named_in_ids using (title_key)
)
select
    said.*,
    coalesce(linked.entity_id, named.entity_id) as to_id,
    coalesce(linked.entity_type, named.entity_type) as to_type,
    works.entity_id as work_id
from identified as said
left join ends as linked on linked.title_key = said.target_key
-- A name is only a guess: what goes by it may be the entity itself, or be of a type that the relation never leads to.
left join vocabulary_types as wanted
    on said.method = 'infobox' and wanted.side = 'named' and wanted.key = said.relation
left join known_names as named
    on said.to_title is null and named.source = said.source and named.name = lower(said.to_name)
    and named.side = side_of(said.continuity) and named.entity_id <> said.from_id
    and (wanted.types is null or list_contains(wanted.types, named.entity_type))
left join work_titles as works on works.source = said.source and works.title = said.work;

create or replace temp table decided_relations as
select relation_id, arg_max(status, place) as status, arg_max(decision_id, place) as decision_id
from (
    select relation_id, unnest(list_prepend(relation_id, former_ids)) as statement_id
    from said_relations
    where former_ids is not null or relation_id in (select statement_id from decided)
)
join decided using (statement_id)
group by relation_id;

-- Other voices for what is proposed: infoboxes, and what was read on other pages and no check speaks against. What people
-- rejected is none, and neither is what the page says of it in other letters.
create or replace temp table relation_voices as
with said as (
    select
        said.from_id, said.relation as key, coalesce(said.to_id, named.entity_id) as to_id, said.title_key, said.method,
        said.relation_id, row(said.qualifier, said.start_time, said.end_time, said.work) as details
    from said_relations as said
    -- A sentence that links to a section of a page may still name an entity.
    left join known_names as named
        on said.method = 'sentence' and said.target_key is null and named.source = said.source
        and named.name = lower(said.to_name) and named.side = side_of(said.continuity)
    where said.method = 'infobox' and may_be('page', said.relation, said.entity_type)
        or said.supported and said.is_mapped and said.failed = ''
),
counted as (
    from said
    anti join (
        from said semi join (from decided_relations where status = 'rejected') using (relation_id)
    ) as rejected using (from_id, key, to_id, title_key, method, details)
    where to_id is not null
)
select distinct
    case when same.is_turned then said.to_id else said.from_id end as from_id,
    same.key,
    case when same.is_turned then said.from_id else said.to_id end as to_id,
    coalesce(read_twice.page_key, said.title_key) as page_key,
    said.method
from counted as said
join same_relations as same on same.said = said.key
left join read_twice using (title_key);
