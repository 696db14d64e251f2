-- Facts of one type's entities: what infoboxes say, then what models say.
with stated as (
    select
        entity_id, entity_type, key as fact_key, value, qualifier, number, unit, calendar, date_from, date_to,
        source, title, title_key, batch, revision_id, evidence, evidence_start, evidence_end, supported,
        'infobox' as method, rule_id, null::varchar as model, confidence, position,
        '' as subject
    from told
    where entity_type = $type and kind in ('fact', 'external_id')
    union all
    select
        entity_id, entity_type, fact_key, value, null, try_cast(replace(value, ',', '') as double), unit,
        calendar, since, until,
        source, title, title_key, batch, revision_id, evidence, null, null, supported,
        'model', null, model, confidence, 0, subject
    from model_facts
    where entity_type = $type
),
identified as (
    select
        -- Without a unit the hash is as if there were none at all: `concat_ws` leaves out what is null.
        md5(concat_ws(
            chr(31), source, title, subject, fact_key, value, coalesce(qualifier, ''), method, nullif(unit, '')
        )) as fact_id,
        *
    from stated
    qualify row_number() over (
        partition by fact_id order by supported desc, position, revision_id desc, confidence desc, model
    ) = 1
),
judged as (
    select
        identified.*,
        coalesce(decided.status, case when supported then 'stated' else 'unsupported' end) as status,
        decided.decision_id
    from identified
    left join decided on decided.statement_id = identified.fact_id
)
select
    * exclude (position, subject),
    $run as run_id,
    fact_key in (from single_keys) and status in ('stated', 'accepted') and coalesce(
        case when date_from is null and date_to is null
            then min(lower(value)) over standing <> max(lower(value)) over standing
            else max(date_from) over standing >= min(date_to) over standing
        end,
        false
    ) as is_disputed
from judged
window standing as (
    partition by entity_id, fact_key, status in ('stated', 'accepted'), date_from is null and date_to is null, calendar
)
order by entity_id, fact_key, value, fact_id
