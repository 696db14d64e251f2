-- What machines left open in one source ($source). `queue.py` leaves out what people have settled since.

with standing as materialized (
    select
        entity_id, entity_type, source, name, title, title_key, page_id, batch, confidence, origin, state,
        state_reason, state_at, merged_into, review_reason, review_since, rule_ids
    from entities
),

survivors as (select entity_id, coalesce(merged_into, entity_id) as now_id from standing),

-- The entity that each title stands for: the one that was read from its page, which may have another title since, else
-- one that only is called so.
holders as (
    select
        coalesce(pages.title_key, standing.title_key) as title_key,
        coalesce(standing.merged_into, standing.entity_id) as entity_id
    from standing
    left join page_types as pages using (source, page_id)
    qualify row_number() over (
        partition by coalesce(pages.title_key, standing.title_key)
        order by pages.page_id is null, standing.state = 'suppressed', standing.entity_id
    ) = 1
),

known as (select title_key, inbound from lake.known_links where source = $source),

-- Compacted counts where there are some. Else each linking page counts once, as they do there.
inbound as (
    from known
    union all
    select target_key as title_key, count(distinct from_key) as inbound
    from lake.page_links
    where source = $source and kind = 'link' and not exists (from known)
    group by target_key
),

hanging as (
    select entity_id, count(*) as dependants
    from (
        select entity_id from lake.entity_aliases
        union all
        select entity_id from lake.entity_facts
        union all
        select from_id from lake.entity_relations
        union all
        select to_id from lake.entity_relations where to_id is not null
        union all
        select holders.entity_id
        from lake.entity_mentions as mentions
        join holders on mentions.means_key = holders.title_key
    )
    group by entity_id
),

unsure_pages as materialized (
    select
        title, title_key, batch, primary_type, confidence, learned_probability, reason, rule_ids,
        -- The type that `choices.py` proposes.
        coalesce(
            nullif(model_type, 'Unknown'), nullif(rules_type, 'Unknown'),
            if(learned_probability >= $learned_from, learned_type, null),
            list_filter(types, lambda one: one.type <> 'Unknown')[1].type
        ) as proposed_type
    from page_types
    where needs_review and source = $source
),

-- The names of templates are in the form in which the wiki stores them.
infoboxes as (
    select batch, title_key, infobox_template as template
    from lake.page_signals
    where source = $source and length(infobox_template) < 256
),

-- A template stands for one kind of thing. A category may be a topic: without a proposal it is not asked about.
covers as (
    select title_key, list(covered_by order by kind = 'category', settles desc, covered_by) as covered_by
    from (
        select unnest(open_keys) as title_key, title_key as covered_by, kind, settles
        from lake.type_proposals
        where source = $source and (kind = 'template' or proposed_type is not null)
    )
    group by title_key
),

page_items as (
    select
        'page-' || pages.title_key as item_id, 'page' as kind, $source as source, pages.title as subject,
        'What is it about?' as question,
        case
            when pages.primary_type = 'Unknown' then ''
            else format('{} at {:.2f}: ', pages.primary_type, pages.confidence)
        end
        || pages.reason as reason,
        pages.title, pages.title_key, pages.batch, nullif(pages.primary_type, 'Unknown') as entity_type,
        holders.entity_id, null as other_id, null as other_key, [] as statement_ids,
        1 - greatest(pages.confidence, coalesce(pages.learned_probability, 0)) as uncertainty,
        null as since,
        'pages with '
        || coalesce('the infobox template ' || infoboxes.template, 'the strongest rule ' || pages.rule_ids[1])
        || coalesce(' may be ' || pages.proposed_type, ' have no proposed type') as alike,
        pages.proposed_type,
        covers.covered_by
    from unsure_pages as pages
    left join covers using (title_key)
    left join holders using (title_key)
    left join infoboxes using (batch, title_key)
),

-- A question is about what two records are merged into: of pairs of the same two, the most alike is asked about.
asked_pairs as (
    select
        judgements.pair_id, judgements.reason, judgements.proposal, judgements.entity_type,
        least(first_ones.now_id, second_ones.now_id) as one_id,
        greatest(first_ones.now_id, second_ones.now_id) as other_id
    from lake.entity_judgements as judgements
    join survivors as first_ones on judgements.first_id = first_ones.entity_id
    join survivors as second_ones on judgements.second_id = second_ones.entity_id
    where judgements.judgement = 'unsure' and first_ones.now_id <> second_ones.now_id
    qualify row_number() over (
        partition by one_id, other_id order by judgements.score desc nulls last, judgements.pair_id
    ) = 1
),

pair_items as (
    select
        'pair-' || asked.pair_id, 'pair', one.source,
        case when one.name = other.name then one.name else one.name || ' and ' || other.name end,
        'Are they one thing, or two?',
        asked.reason || coalesce('. A model proposes: ' || asked.proposal, ''),
        one.title, one.title_key, one.batch, asked.entity_type, one.entity_id, other.entity_id,
        other.title_key, [],
        case when asked.proposal is null then 1 else 0.5 end,
        null, null, null, null
    from asked_pairs as asked
    join standing as one on asked.one_id = one.entity_id
    join standing as other on asked.other_id = other.entity_id
    where one.source = $source
),

entity_items as (
    select
        'entity-' || entity_id, 'entity', source, name, 'Does it stand as it is?', review_reason,
        title, title_key, batch, entity_type, entity_id, null, null, [], 1, review_since, null, null, null
    from standing
    where review_reason is not null and state <> 'merged' and source = $source
),

-- A page that is unsure is asked about itself, and an entity with a reason to be looked at by that.
promotion_items as (
    select
        'promotion-' || entity_id, 'promotion', source, name, 'Is it to be promoted?', state_reason,
        title, title_key, batch, entity_type, entity_id, null, null, [], 1 - confidence, state_at,
        entity_type || ' entities '
        || coalesce(
            'with the infobox template ' || infoboxes.template,
            'with the strongest rule ' || rule_ids[1],
            case when origin = 'mention' then 'that only lists name' end
        )
        || ', ' || lower(state_reason[1]) || state_reason[2:],
        null, null
    from standing
    left join infoboxes using (batch, title_key)
    anti join unsure_pages using (title_key)
    where state = 'candidate' and review_reason is null and source = $source
),

disputes as (
    select
        entity_id, entity_type, fact_key,
        arg_max(struct_pack(source, title, title_key, batch), (confidence, fact_id)) as page,
        list(fact_id order by confidence desc, fact_id) as statement_ids,
        list(distinct value order by value) as said
    from lake.entity_facts
    where is_disputed and status in ('stated', 'accepted')
    group by entity_id, entity_type, fact_key
    having not bool_or(status = 'accepted')
),

unsupported as (
    select
        fact_id as statement_id, entity_id, entity_type, fact_key as about_key, value, source, title, title_key, batch
    from lake.entity_facts
    where status = 'unsupported' and source = $source
    union all
    select relation_id, from_id, entity_type, relation, to_name, source, title, title_key, batch
    from lake.entity_relations
    where status = 'unsupported' and source = $source
),

statement_items as (
    select
        'statement-' || entity_id || '.' || fact_key as item_id, page.source, fact_key as about_key,
        'Which is right?' as question,
        format('{} values stand side by side: {}', len(said), array_to_string(said, '; ')) as reason,
        page.title, page.title_key, page.batch, entity_type, entity_id, statement_ids,
        1 - 1 / len(said) as uncertainty
    from disputes
    where page.source = $source
    union all
    select
        'statement-' || statement_id, source, about_key,
        'Is it so?', format('The page does not have the words that are given for it: {}', value),
        title, title_key, batch, entity_type, entity_id, [statement_id], 0.2
    from unsupported
),

items as (
    from page_items
    union all
    from pair_items
    union all
    from entity_items
    union all
    from promotion_items
    union all
    select
        statements.item_id, 'statement', statements.source, standing.name || ': ' || replace(statements.about_key, '_', ' '),
        statements.question, statements.reason, statements.title, statements.title_key, statements.batch, statements.entity_type,
        statements.entity_id, null, null, statements.statement_ids, statements.uncertainty, null, null, null, null
    from statement_items as statements
    join standing using (entity_id)
),

-- Two that become one change what is said of the lesser: that is counted.
reach as (
    select
        items.* exclude (other_key), present.page_id,
        case
            when items.other_id is null then coalesce(inbound.inbound, 0)
            else least(coalesce(inbound.inbound, 0), coalesce(other_inbound.inbound, 0))
        end as inbound,
        case
            when items.other_id is null then coalesce(one.dependants, 0)
            else least(coalesce(one.dependants, 0), coalesce(other.dependants, 0))
        end as dependants
    from items
    left join page_types as present on present.source = items.source and present.title_key = items.title_key
    left join inbound on inbound.title_key = items.title_key
    left join inbound as other_inbound on items.other_key = other_inbound.title_key
    left join hanging as one on items.entity_id = one.entity_id
    left join hanging as other on items.other_id = other.entity_id
)

-- Types are made one after another: in between, two may tell of one thing.
select
    *, round(uncertainty * (1 + ln(1 + inbound) + ln(1 + dependants)), 4) as rank
from reach
qualify row_number() over (partition by item_id order by rank desc, entity_type, entity_id) = 1
order by rank desc, item_id
