-- The tags of a type's entities: those of the pages of all that an entity was merged from, in the vocabulary's words.
with current_rows as (
    select
        entities.entity_id, coalesce(entities.merged_into, entities.entity_id) as survivor, entities.state,
        title_key_now(pages.title_key, entities.title_key, entities.page_id) as title_key
    from ({entities}) as entities
    left join present_pages as pages using (source, page_id)
    where entities.valid_to is null and entities.state <> 'suppressed'
),
members as (
    select rows.survivor as entity_id, rows.title_key
    from current_rows as rows
    semi join (from current_rows where state <> 'merged') as survivors on rows.survivor = survivors.entity_id
),
carried as (
    select
        members.entity_id,
        coalesce(words.word, tags.tag_id) as tag_id,
        case when words.word is null then tags.method else 'vocabulary' end as method,
        tags.weight, tags.confidence, tags.title
    from members
    join present_page_tags as tags using (title_key)
    left join vocabulary_words as words using (tag_id)
    where tags.target_kind = 'page'
)
select
    entity_id, $entity_type as entity_type, tag_id,
    max(weight) as weight, max(confidence) as confidence, method,
    arg_min(title, (-weight, title)) as from_title,
    $run_id as run_id
from carried
group by entity_id, tag_id, method
order by entity_id, tag_id, method
