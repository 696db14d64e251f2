-- What models read of pages, and of names on list pages, as statements about entities. What stands in braces are the
-- tables of those interrogations, or no rows.

-- Letters, marks and numbers of any script; `checks.plain_key` gives the same.
create or replace temp macro plain_key(said) as
    trim(regexp_replace(lower(said), '[^\pL\pM\pN]+', '_', 'g'), '_');

create or replace temp macro plain_text(said) as
    trim(regexp_replace(lower(said), '[^\pL\pM\pN]+', ' ', 'g'));

-- Whether the vocabulary lets an entity of a type be on a side of a key; what it does not say, or nobody knows, may be.
create or replace temp macro may_be(of_side, of_key, type) as coalesce(
    (select list_contains(types, type) from vocabulary_types where side = of_side and key = of_key), true
);

-- What a model says counts as stated only if something else verifies it.
create or replace temp macro standing_of(method, supported, is_mapped, verified_by) as case
    when not supported then 'unsupported'
    when method = 'infobox' then 'stated'
    when not is_mapped then 'unmapped'
    when verified_by is not null then 'stated'
    else 'proposed'
end;

-- The checks that each statement failed, by a hash of what it says: an answer that was replaced is not checked.
create or replace temp table checked as
select checks.title_key, checks.batch, checks.statement, any_value(checks.failed) as failed
from {checks} as checks
semi join present_answers as present on checks.batch = present.batch and checks.title_key = present.title_key
group by all;

create or replace temp macro statement_hash(kind, subject, key, other, evidence) as
    md5(concat_ws(chr(31), kind, subject, key, other, evidence));

create or replace temp table model_facts as
with said as (
    select
        facts.source, facts.batch, facts.title, facts.title_key, facts.revision_id, facts.evidence, facts.supported,
        facts.model, facts.confidence, plain_key(facts.fact_key) as said_key, trim(facts.value) as value, facts.unit,
        '' as subject, holders.entity_id, holders.entity_type,
        statement_hash('fact', facts.title, facts.fact_key, facts.value, facts.evidence) as statement,
        'model' as method
    from {facts} as facts
    semi join present_answers as present on facts.batch = present.batch and facts.title_key = present.title_key
    join holders on holders.title_key = facts.title_key
    union all
    -- A model says of no name on a list how sure it is. A list may give one name to things of two types.
    select
        mentions.source, mentions.batch, mentions.list_title, mentions.title_key, mentions.revision_id,
        listed.evidence, listed.supported, listed.model, 0.5, plain_key(listed.attribute.name),
        trim(listed.attribute.value), null, concat_ws(chr(31), mentions.name, mentions.said_type), holders.entity_id,
        holders.entity_type, null, 'model'
    from (select *, unnest(attributes) as attribute, clean_names.cleaned from {listed} join clean_names using (name)) as listed
    join ({mentions}) as mentions
        on mentions.batch = listed.batch and mentions.title_key = listed.title_key
        and mentions.name = listed.cleaned and mentions.said_type = listed.type
    semi join present_answers as present on listed.batch = present.batch and listed.title_key = present.title_key
    join holders on holders.title_key = mentions.means_key
    union all
    -- A pattern that reads a fact checks it as well.
    select
        sentences.source, sentences.batch, sentences.title, sentences.title_key, sentences.revision_id,
        sentences.evidence, sentences.supported, null, 0.95, sentences.key, sentences.other, null, '',
        holders.entity_id, holders.entity_type, null, 'sentence'
    from {sentences} as sentences
    semi join present_answers as present
        on sentences.batch = present.batch and sentences.title_key = present.title_key
    join holders on holders.title_key = sentences.title_key
    where sentences.kind = 'fact'
)
select
    said.* exclude (said_key, statement), coalesce(words.key, said_key) as fact_key, words.key is not null as is_mapped,
    case method when 'sentence' then 'vocabulary:' || said_key end as rule_id,
    case method when 'sentence' then '' else checked.failed end as failed, may_be('of', words.key, said.entity_type) as fits, spans.calendar, spans.since, spans.until
from said
left join date_spans as spans on spans.language = language_of(said.source) and spans.text = said.value
left join vocabulary as words on words.kind = 'fact' and words.called = said.said_key
left join checked using (batch, title_key, statement)
where said.said_key <> '' and value <> '';

-- Whom a relation is from: the page's own entity by any of its names, or the only one that goes by the name. To whom:
-- what the page links to by that name. A time that is no date is left out.
create or replace temp table model_relations as
with said as (
    select
        relations.* exclude (relation, start_time, end_time), plain_key(relations.relation) as said_key,
        holders.entity_id as page_entity, holders.entity_type as page_type, holders.continuity,
        lower(trim(relations.from_name)) in (lower(holders.name), lower(holders.title)) as is_own,
        statement_hash('relation', from_name, relations.relation, to_name, evidence) as statement,
        starts.text as start_time, ends.text as end_time,
        coalesce(starts.calendar, ends.calendar) as calendar, starts.since as starts_from, ends.until as ends_to
    from {relations} as relations
    semi join present_answers as present
        on relations.batch = present.batch and relations.title_key = present.title_key
    join holders on holders.title_key = relations.title_key
    left join date_spans as starts
        on starts.language = language_of(relations.source) and starts.text = relations.start_time
    left join date_spans as ends
        on ends.language = language_of(relations.source) and ends.text = relations.end_time
),
linked as (
    select from_key, plain_text(regexp_replace(target, ' *\([^)]*\)$', '')) as called, any_value(target) as to_title,
        any_value(target_key) as to_key
    from lake.page_links as links
    semi join present_answers as present on links.batch = present.batch and links.from_key = present.title_key
    where kind = 'link' and from_key in (select title_key from said)
    group by all
    having count(distinct target_key) = 1
)
select
    said.* exclude (said_key, page_entity, page_type, is_own, statement),
    'model' as method,
    null::varchar as rule_id,
    coalesce(words.key, said.said_key) as relation,
    words.key is not null as is_mapped,
    checked.failed,
    linked.to_title,
    linked.to_key,
    case when is_own then page_entity else named.entity_id end as from_id,
    case when is_own then page_type else named.entity_type end as entity_type
from said
left join known_names as named
    on named.source = said.source and named.name = lower(trim(said.from_name)) and named.side = side_of(said.continuity)
left join linked on linked.from_key = said.title_key and linked.called = plain_text(said.to_name)
left join vocabulary as words on words.kind = 'relation' and words.called = said.said_key
left join checked using (batch, title_key, statement)
where said.said_key <> '' and (is_own or named.entity_id is not null)
union all by name
-- What patterns read in sentences: every one of its keys is in the vocabulary, and its checks are part of the reading.
select
    sentences.source, sentences.batch, sentences.title, sentences.title_key, sentences.revision_id, sentences.evidence,
    sentences.supported, sentences.title as from_name, sentences.key as relation, sentences.other as to_name,
    sentences.to_title, links.target_key as to_key, 'sentence' as method, 'vocabulary:' || sentences.key as rule_id, 0.95 as confidence,
    true as is_mapped, '' as failed, holders.entity_id as from_id, holders.entity_type, holders.continuity
from {sentences} as sentences
semi join present_answers as present
    on sentences.batch = present.batch and sentences.title_key = present.title_key
join holders on holders.title_key = sentences.title_key
left join (
    select distinct from_key, target, target_key
    from lake.page_links as links
    semi join present_answers as present on links.batch = present.batch and links.from_key = present.title_key
    semi join {sentences} as named on links.from_key = named.title_key and links.target = named.to_title
    where kind = 'link'
) as links on links.from_key = sentences.title_key and links.target = sentences.to_title
where sentences.kind = 'relation';
