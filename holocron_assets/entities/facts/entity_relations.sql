-- Relations of one type's entities: what infoboxes say, then what models say. An end is found by the title that the
-- page links to, and else by a name that only one entity goes by.
with stated as (
    select
        told.entity_id as from_id, told.entity_type, told.continuity, told.key as relation, told.value as to_name,
        told.target as to_title, told.target_key, told.qualifier, told.calendar, told.start_time, told.end_time,
        told.starts_from, told.ends_to, told.work, told.source, told.title, told.title_key, told.batch,
        told.revision_id, told.evidence, told.evidence_start, told.evidence_end, told.supported,
        'infobox' as method, told.rule_id, null::varchar as model, told.confidence, told.position, '' as subject
    from told
    where told.entity_type = $type and told.kind = 'relation'
    union all
    select
        from_id, entity_type, continuity, relation, to_name,
        null, null, null, calendar, start_time, end_time,
        starts_from, ends_to, work_context, source, title, title_key, batch,
        revision_id, evidence, null, null, supported,
        'model', null, model, confidence, 0, from_name
    from model_relations
    where entity_type = $type
),
identified as (
    select
        -- Two stints are two. What is not told is left out by `concat_ws`, so each is told apart by a word.
        md5(concat_ws(
            chr(31), source, title, subject, relation, to_name, coalesce(to_title, ''), coalesce(qualifier, ''), method,
            'since ' || nullif(start_time, ''), 'until ' || nullif(end_time, ''), 'in ' || nullif(work, '')
        )) as relation_id,
        *
    from stated
    qualify row_number() over (
        partition by relation_id order by supported desc, position, revision_id desc, confidence desc, model
    ) = 1
)
select
    said.* exclude (continuity, target_key, position, subject),
    coalesce(linked.entity_id, named.entity_id) as to_id,
    coalesce(linked.entity_type, named.entity_type) as to_type,
    works.entity_id as work_id,
    coalesce(decided.status, case when said.supported then 'stated' else 'unsupported' end) as status,
    decided.decision_id,
    $run as run_id
from identified as said
left join ends as linked on linked.title_key = said.target_key
left join known_names as named
    on said.to_title is null and named.source = said.source and named.name = lower(said.to_name)
    and named.side = side_of(said.continuity)
left join work_titles as works on works.source = said.source and works.title = said.work
left join decided on decided.statement_id = said.relation_id
order by from_id, relation, to_name, relation_id
