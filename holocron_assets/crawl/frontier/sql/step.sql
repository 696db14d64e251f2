select
    steps.target_key as title_key,
    min(near.depth + steps.length) as depth,
    arg_min(near.title_key, near.depth + steps.length) as via_key
from $near as near
join $steps as steps on steps.from_key = near.title_key
left join $reached as nearest on nearest.title_key = steps.target_key
where near.depth + steps.length <= steps.farthest
    and near.depth + steps.length < least(nearest.depth, steps.known_depth, steps.farthest + 1)
group by steps.target_key
