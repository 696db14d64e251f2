-- Relations of one type's entities: what infoboxes say, then sentences and models. An end is found by the title that the
-- page links to, and else by a name that only one entity goes by.
with stated as (
    select
        fact.entity_id as from_id, fact.entity_type, fact.continuity, fact.key as relation, fact.value as to_name,
        fact.target as to_title, fact.target_key, fact.qualifier, fact.calendar, fact.start_time, fact.end_time,
        fact.starts_from, fact.ends_to, fact.work, fact.source, fact.title, fact.title_key, fact.batch,
        fact.revision_id, fact.evidence, fact.evidence_start, fact.evidence_end, fact.supported,
        'infobox' as method, fact.rule_id, null::varchar as model, fact.confidence, fact.position, '' as subject,
        true as is_mapped, null::varchar as failed
    from infobox_facts as fact
    where fact.entity_type = $type and fact.kind = 'relation'
    union all
    select
        from_id, entity_type, continuity, relation, to_name,
        to_title, to_key, null, calendar, start_time, end_time,
        starts_from, ends_to, work_context, source, title, title_key, batch,
        revision_id, evidence, null, null, supported,
        method, rule_id, model, confidence, 0, from_name, is_mapped, failed
    from model_relations
    where entity_type = $type
),
identified as (
    select
        -- Two stints are two. `concat_ws` leaves out what is missing, so a word stands for each.
        md5(concat_ws(
            chr(31), source, coalesce(first_title, title), subject, relation, to_name, coalesce(to_title, ''),
            coalesce(qualifier, ''), method,
            'since ' || nullif(start_time, ''), 'until ' || nullif(end_time, ''), 'in ' || nullif(work, ''), of_page
        )) as relation_id,
        stated.*
    from stated
    left join named_in_ids using (title_key)
    qualify row_number() over (
        partition by relation_id order by supported desc, position, revision_id desc, confidence desc, model
    ) = 1
),
led as (
    select
        said.* exclude (continuity, target_key, position),
        coalesce(linked.entity_id, named.entity_id) as to_id,
        coalesce(linked.entity_type, named.entity_type) as to_type,
        works.entity_id as work_id
    from identified as said
    left join ends as linked on linked.title_key = said.target_key
    left join known_names as named
        on said.to_title is null and named.source = said.source and named.name = lower(said.to_name)
        and named.side = side_of(said.continuity)
    left join work_titles as works on works.source = said.source and works.title = said.work
),
checked as (
    select
        led.* exclude (failed),
        case when failed is not null then
            array_to_string(list_filter([
                nullif(failed, ''),
                case when not (may_be('from', relation, entity_type) and may_be('to', relation, to_type)) then 'types' end,
                case when to_id is null and (to_title is null or method = 'sentence') then 'unknown' end
            ], lambda one: one is not null), ', ')
        end as failed_checks
    from led
    -- A pattern fits several relations: the other end's type says which it is not.
    where method <> 'sentence' or may_be('to', relation, to_type)
),
-- What a page says twice in other letters is one statement.
once as (
    select * from checked
    qualify method = 'infobox' or relation_id in (select statement_id from decided) or row_number() over (
        partition by from_id, title_key, method, relation, coalesce(to_id, plain_text(to_name)),
            start_time, end_time, work
        order by supported desc, failed_checks = '' desc nulls last, confidence desc, relation_id
    ) = 1
),
verified as (
    select
        once.* exclude (subject),
        case
            when once.method = 'infobox' then null
            when exists (
                from relation_voices as voices
                where voices.from_id = once.from_id and voices.key = once.relation and voices.method = 'infobox'
                    and coalesce(voices.to_id = once.to_id, false)
            ) then 'infobox'
            when exists (
                from relation_voices as voices
                where voices.from_id = once.from_id and voices.key = once.relation
                    and coalesce(voices.to_id = once.to_id, false) and voices.title_key <> once.title_key
            ) then 'page'
            when exists (
                from relation_voices as voices
                where voices.from_id = once.from_id and voices.key = once.relation and voices.method = 'sentence'
                    and once.method = 'model' and coalesce(voices.to_id = once.to_id, false)
                    and ('relation', once.relation, 'sentence') in (select (kind, key, model) from trusted)
            ) then 'sentence'
            when once.failed_checks = '' and ('relation', once.relation, coalesce(once.model, once.method)) in (
                select (kind, key, model) from trusted
            ) then 'checks'
        end as verified_by
    from once
)
select
    verified.* exclude (is_mapped),
    coalesce(decided.status, standing_of(method, supported, is_mapped, verified_by)) as status,
    decided.decision_id,
    $run as run_id
from verified
left join decided on decided.statement_id = verified.relation_id
order by from_id, relation, to_name, relation_id
