-- What is known of the articles of each infobox template and category that at least $fewest open articles of a source
-- ($source) have. `proposals.py` weighs it.

with shared as materialized (
    select batch, title_key, kind, shared from shared_by_articles where source = $source
),

-- What is said of an article's type: by what settled it, or by the learned model; a guess that settles nothing is only
-- shown.
said as materialized (
    select
        types.batch, types.title_key, types.title, types.needs_review as is_open,
        case
            when not types.needs_review then types.method
            when not learned.abstains then 'prediction'
            when types.primary_type <> 'Unknown' then 'guess'
        end as voice,
        if(voice = 'prediction', learned.primary_type, types.primary_type) as type,
        case voice when 'prediction' then learned.probability when 'guess' then 0 else types.confidence end as weight
    from page_types as types
    left join type_predictions as learned using (source, batch, title_key)
    where types.source = $source
),

asked as (
    select kind, shared
    from shared
    join said using (batch, title_key)
    where is_open
    group by all
    having count(*) >= $fewest
),

of_articles as materialized (
    select asked.kind, asked.shared, said.*
    from asked
    join shared using (kind, shared)
    join said using (batch, title_key)
),

evidence as (
    select
        shared, list(struct_pack(type, voice, pages, weight) order by weight desc, pages desc, type, voice) as evidence
    from (
        select shared, type, voice, count(*) as pages, round(sum(weight order by title_key), 4) as weight
        from of_articles
        where voice is not null
        group by all
    )
    group by shared
)

select
    kind, shared as title, count(*) as pages, any_value(coalesce(evidence.evidence, [])) as evidence,
    list(title order by title_key) filter (is_open)[:$examples] as examples,
    list(title_key order by title_key) filter (is_open) as open_keys,
    min(title_key) as stands_for
from of_articles
left join evidence using (shared)
group by kind, shared
order by len(open_keys) desc, shared
