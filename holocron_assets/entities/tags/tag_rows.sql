-- All tags of a source: those that something carries, its category pages, and what the vocabulary names.
with named as (
    select tag_id, name, 1 as place
    from present_page_tags
    where source = $source
    union all
    select tag_id, name, 1 from category_pages where source = $source
    union all
    select tag_id, name, 0 from vocabulary_tags where name is not null
    union all
    select unnest([from_tag, to_tag]) as tag_id, substr(tag_id, strpos(tag_id, ':') + 1), 2
    from vocabulary_relations
)
select
    $source as source,
    named.tag_id,
    arg_min(named.name, (named.place, named.name)) as name,
    split_part(named.tag_id, ':', 1) as type,
    coalesce(
        any_value(said.visibility),
        case
            when regexp_full_match(named.tag_id, $hidden, 'i') then 'hidden'
            when regexp_full_match(named.tag_id, $internal, 'i') then 'internal'
            else 'public'
        end
    ) as visibility,
    any_value(said.description) as description
from named
left join vocabulary_tags as said using (tag_id)
group by named.tag_id
order by named.tag_id
