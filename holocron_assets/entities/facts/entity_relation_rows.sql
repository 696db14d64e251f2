-- Relations of some types' entities, from what `entity_relations.sql` has of all.
with said as (
    from said_relations
    where list_contains($types, entity_type)
    qualify row_number() over (
        partition by entity_type, relation_id order by supported desc, position, revision_id desc, confidence desc, model
    ) = 1
),
checked as (
    select
        said.* exclude (continuity, target_key, position, failed, words, former_ids),
        case
            when method = 'infobox' and not may_be('page', relation, entity_type) then 'types'
            when failed is not null then array_to_string(list_filter([
                nullif(failed, ''),
                case when not (may_be('from', relation, entity_type) and may_be('to', relation, to_type)) then 'types' end,
                case when to_id is null and (to_title is null or method = 'sentence') then 'unknown' end
            ], lambda one: one is not null), ', ')
        end as failed_checks
    from said
    -- A pattern fits several relations: the other end's type says which it is not.
    where method <> 'sentence' or may_be('to', relation, to_type)
),
-- What a page says twice in other letters is one statement.
once as (
    select * from checked
    qualify method = 'infobox' or relation_id in (select relation_id from decided_relations) or row_number() over (
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
                    and coalesce(voices.to_id = once.to_id, false) and voices.page_key <> coalesce(read_twice.page_key, once.title_key)
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
    left join read_twice using (title_key)
)
select
    verified.* exclude (is_mapped),
    coalesce(
        decided.status,
        case when method = 'infobox' and failed_checks = 'types' then 'proposed' end,
        standing_of(method, supported, is_mapped, verified_by)
    ) as status,
    decided.decision_id,
    $run as run_id
from verified
left join decided_relations as decided using (relation_id)
order by from_id, relation, to_name, relation_id
