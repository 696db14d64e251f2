-- How a source's tags stand to each other: what the wiki's category pages say, and the vocabulary.
with filed as (
    select pages.tag_id as narrow, tags.tag_id as broad
    from category_pages as pages
    join present_page_tags as tags using (title_key)
    where tags.source = $source and tags.method = 'category' and tags.tag_id <> pages.tag_id
),
said as (
    select narrow as from_tag, 'broader' as relation, broad as to_tag, 'category' as method from filed
    union all
    select broad, 'narrower', narrow, 'category' from filed
    union all
    select from_tag, relation, to_tag, 'vocabulary' from vocabulary_relations
)
select $source as source, from_tag, relation, to_tag, max(method) as method
from said
group by from_tag, relation, to_tag
order by from_tag, relation, to_tag
