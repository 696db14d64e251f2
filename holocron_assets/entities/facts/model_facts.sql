-- What models read of pages, and of names on list pages, as statements about entities. What stands in braces are the
-- tables of those interrogations, or no rows.

create or replace temp macro plain_key(said) as
    trim(regexp_replace(lower(said), '[^a-z0-9]+', '_', 'g'), '_');

create or replace temp table model_facts as
with said as (
    select
        facts.source, facts.batch, facts.title, facts.title_key, facts.revision_id, facts.evidence, facts.supported,
        facts.model, facts.confidence, plain_key(facts.fact_key) as said_key, trim(facts.value) as value, facts.unit,
        '' as subject, holders.entity_id, holders.entity_type
    from {facts} as facts
    semi join present_answers as present on facts.batch = present.batch and facts.title_key = present.title_key
    join holders on holders.title_key = facts.title_key
    union all
    -- A model says of no name on a list how sure it is. A list may give one name to things of two types.
    select
        mentions.source, mentions.batch, mentions.list_title, mentions.title_key, mentions.revision_id,
        listed.evidence, listed.supported, listed.model, 0.5, plain_key(listed.attribute.name),
        trim(listed.attribute.value), null, concat_ws(chr(31), mentions.name, mentions.said_type), holders.entity_id, holders.entity_type
    from (select *, unnest(attributes) as attribute, clean_names.cleaned from {listed} join clean_names using (name)) as listed
    join ({mentions}) as mentions
        on mentions.batch = listed.batch and mentions.title_key = listed.title_key
        and mentions.name = listed.cleaned and mentions.said_type = listed.type
    semi join present_answers as present on listed.batch = present.batch and listed.title_key = present.title_key
    join holders on holders.title_key = mentions.means_key
)
select
    said.* exclude (said_key), coalesce(keys.key, said_key) as fact_key, spans.calendar, spans.since, spans.until
from said
left join date_spans as spans on spans.text = said.value
left join model_keys as keys on keys.kind = 'facts' and keys.called = said.said_key
where said.said_key <> '' and value <> '';

-- Whom a relation is from: the page's own entity by any of its names, or the only one that goes by the name.
create or replace temp table model_relations as
with said as (
    select
        relations.* exclude (relation), plain_key(relations.relation) as said_key,
        holders.entity_id as page_entity, holders.entity_type as page_type, holders.continuity,
        lower(trim(relations.from_name)) in (lower(holders.name), lower(holders.title)) as is_own
    from {relations} as relations
    semi join present_answers as present
        on relations.batch = present.batch and relations.title_key = present.title_key
    join holders on holders.title_key = relations.title_key
)
select
    said.* exclude (said_key, page_entity, page_type, is_own),
    coalesce(keys.key, said.said_key) as relation,
    case when is_own then page_entity else named.entity_id end as from_id,
    case when is_own then page_type else named.entity_type end as entity_type,
    coalesce(starts.calendar, ends.calendar) as calendar,
    starts.since as starts_from,
    ends.until as ends_to
from said
left join date_spans as starts on starts.text = said.start_time
left join date_spans as ends on ends.text = said.end_time
left join known_names as named
    on named.source = said.source and named.name = lower(trim(said.from_name)) and named.side = side_of(said.continuity)
left join model_keys as keys on keys.kind = 'relations' and keys.called = said.said_key
where said.said_key <> '' and (is_own or named.entity_id is not null);
