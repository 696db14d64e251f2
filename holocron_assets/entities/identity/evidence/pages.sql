-- What the pages of pairs say of both. `asked_pairs` has pair_id, first_key, second_key (title keys) and one_language.
with asked_titles as (
    select first_key as title_key from asked_pairs union select second_key from asked_pairs
),

held as (
    select
        facts.title_key, facts.kind, facts.key, facts.is_single, facts.value,
        facts.calendar, facts.date_from, facts.date_to,
        regexp_replace(lower(coalesce(facts.target, facts.value)), '[\s\p{P}]', '', 'g') as plain,
        -- Where a script puts no spaces between words, a value may be a phrase.
        case when not regexp_matches(facts.value, '[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]')
            then nullif(regexp_extract(lower(facts.value), '^[\p{L}\p{M}\p{N}_]+$'), '')
        end as word
    from lake.page_facts as facts
    semi join present_answers as present on facts.batch = present.batch and facts.title_key = present.title_key
    semi join asked_titles on facts.title_key = asked_titles.title_key
    where facts.kind in ('fact', 'relation')
),

-- Each value of the first with each value of the second of the same key.
compared as (
    select
        asked.pair_id, one.key, one.is_single, one.value as first_value, other.value as second_value,
        coalesce(
            one.calendar = other.calendar and one.date_from < other.date_to and other.date_from < one.date_to,
            asked.one_language and one.plain = other.plain
        ) as is_one,
        coalesce(
            one.calendar = other.calendar and (one.date_to <= other.date_from or other.date_to <= one.date_from),
            asked.one_language and one.calendar is null and other.calendar is null
            and one.word <> other.word,
            false
        ) as are_two
    from asked_pairs as asked
    join held as one on one.title_key = asked.first_key and one.kind = 'fact'
    join held as other on other.title_key = asked.second_key and other.kind = 'fact' and other.key = one.key
),

by_key as (
    select
        pair_id, key, bool_or(is_one) as agrees, bool_and(is_single and are_two) as contradicts,
        min(first_value) as first_value, min(second_value) as second_value
    from compared
    group by pair_id, key
),

facts_of_both as (
    select
        pair_id,
        list(key order by key) filter (agrees) as agreeing,
        list(key || ' (' || first_value || ', ' || second_value || ')' order by key) filter (contradicts) as contradicting
    from by_key
    group by pair_id
),

targets as (
    select distinct title_key, plain from held where kind = 'relation'
),

counted as (
    select title_key, count(*) as number from targets group by title_key
),

common as (
    select asked.pair_id, count(*) as number
    from asked_pairs as asked
    join targets as one on one.title_key = asked.first_key
    join targets as other on other.title_key = asked.second_key and other.plain = one.plain
    group by asked.pair_id
),

templates as (
    select signals.title_key, regexp_replace(lower(signals.infobox_template), 'infobox|[\s_]', '', 'g') as template
    from lake.page_signals as signals
    semi join present_answers as present
        on signals.batch = present.batch and signals.title_key = present.title_key
    semi join asked_titles on signals.title_key = asked_titles.title_key
)

select
    asked.pair_id,
    coalesce(first_template.template = second_template.template, false) as one_template,
    case when asked.one_language and first_count.number > 0 and second_count.number > 0
        then coalesce(common.number, 0) / least(first_count.number, second_count.number)
    end as common_targets,
    facts_of_both.agreeing,
    facts_of_both.contradicting
from asked_pairs as asked
left join facts_of_both using (pair_id)
left join common using (pair_id)
left join counted as first_count on first_count.title_key = asked.first_key
left join counted as second_count on second_count.title_key = asked.second_key
left join templates as first_template on first_template.title_key = asked.first_key
left join templates as second_template on second_template.title_key = asked.second_key
