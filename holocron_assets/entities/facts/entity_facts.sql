-- Facts about the entities of some types: what infoboxes say, then what sentences and models say.
with stated as (
    select
        kind, entity_id, entity_type, key as fact_key, value, qualifier, number, unit, calendar, date_from, date_to,
        source, title, title_key, batch, revision_id, evidence, evidence_start, evidence_end, supported,
        'infobox' as method, rule_id, null::varchar as model, confidence, position,
        '' as subject, true as is_mapped, null::varchar as failed_checks
    from infobox_facts
    where list_contains($types, entity_type) and kind in ('fact', 'external_id')
    union all
    select
        'fact', entity_id, entity_type, fact_key, value, null, number_of(value, source), unit,
        calendar, since, until,
        source, title, title_key, batch, revision_id, evidence, null, null, supported,
        method, rule_id, model, confidence, 0, subject, is_mapped,
        case when failed is not null then
            array_to_string(list_filter([nullif(failed, ''), case when not fits then 'types' end], lambda one: one is not null), ', ')
        end
    from model_facts
    where list_contains($types, entity_type)
),
identified as (
    select
        -- Without a unit the hash is as if there were none at all: `concat_ws` leaves out what is null.
        concat_ws(
            chr(31), subject, fact_key, value, coalesce(qualifier, ''), method, nullif(unit, '')
        ) as words,
        md5(concat_ws(chr(31), source, coalesce(first_title, title), words, of_page)) as fact_id,
        list_transform(former_titles, lambda former: md5(concat_ws(chr(31), source, former, words))) as former_ids,
        stated.*
    from stated
    left join named_in_ids using (title_key)
),
decided_facts as (
    select fact_id, arg_max(status, place) as status, arg_max(decision_id, place) as decision_id
    from (
        select fact_id, unnest(list_prepend(fact_id, former_ids)) as statement_id
        from identified
        where former_ids is not null or fact_id in (select statement_id from decided)
    )
    join decided using (statement_id)
    group by fact_id
),
said as (
    from identified
    qualify row_number() over (
        partition by entity_type, fact_id order by supported desc, position, revision_id desc, confidence desc, model
    ) = 1
),
-- What a page says twice in other letters is one statement.
once as (
    select * from said
    qualify method = 'infobox' or fact_id in (select fact_id from decided_facts) or row_number() over (
        partition by entity_id, title_key, method, subject, fact_key, plain_text(value), unit
        order by supported desc, failed_checks = '' desc nulls last, confidence desc, fact_id
    ) = 1
),
-- Other voices for what is proposed: infoboxes, and what was read on other pages and no check speaks against. What people
-- rejected is none, and neither is what the page says of it in other letters.
spoken as (
    select
        entity_id, fact_key as key, plain_text(value) as said, title_key, coalesce(page_key, title_key) as page_key,
        method, fact_id, row(subject, qualifier, unit) as details
    from identified
    left join read_twice using (title_key)
    where kind = 'fact' and (method = 'infobox' or supported and is_mapped and failed_checks = '')
),
fact_voices as (
    from spoken
    anti join (
        from spoken semi join (from decided_facts where status = 'rejected') using (fact_id)
    ) as rejected using (entity_id, key, said, title_key, method, details)
),
verified as (
    select
        once.*,
        case
            when once.method = 'infobox' then null
            when (once.entity_id, once.fact_key, plain_text(once.value)) in (
                select (entity_id, key, said) from fact_voices where method = 'infobox'
            ) then 'infobox'
            when exists (
                from fact_voices as voices
                where voices.entity_id = once.entity_id and voices.key = once.fact_key
                    and voices.said = plain_text(once.value) and voices.page_key <> coalesce(read_twice.page_key, once.title_key)
            ) then 'page'
            when once.method = 'model' and ('fact', once.fact_key, 'sentence') in (select (kind, key, model) from trusted)
                and (once.entity_id, once.fact_key, plain_text(once.value)) in (
                    select (entity_id, key, said) from fact_voices where method = 'sentence'
                ) then 'sentence'
            when once.failed_checks = '' and ('fact', once.fact_key, coalesce(once.model, once.method)) in (
                select (kind, key, model) from trusted
            ) then 'checks'
        end as verified_by
    from once
    left join read_twice using (title_key)
),
judged as (
    select
        verified.*,
        coalesce(decided.status, standing_of(method, supported, is_mapped, verified_by)) as status,
        decided.decision_id
    from verified
    left join decided_facts as decided using (fact_id)
)
select
    * exclude (kind, position, subject, is_mapped, words, former_ids),
    $run as run_id,
    fact_key in (from single_keys) and status in ('stated', 'accepted') and coalesce(
        case when date_from is null and date_to is null
            then min(lower(value)) over standing <> max(lower(value)) over standing
            else max(date_from) over standing >= min(date_to) over standing
        end,
        false
    ) as is_disputed
from judged
-- Of two languages only dates are compared: "Male" and "männlich" are no dispute.
window standing as (
    partition by entity_id, fact_key, status in ('stated', 'accepted'), date_from is null and date_to is null, calendar,
        case when date_from is null and date_to is null then language_of(source) end
)
order by entity_id, fact_key, value, fact_id
