-- Decisions of people, and the questions that they should decide.

create view decisions as from lake.decisions;

-- Decisions that count: no decision that counts undoes them. Undoing an undo restores the first decision.
create view standing_decisions as
with recursive judged (decision_id, counts) using key (decision_id) as (
    select decision_id, true
    from lake.decisions
    where decision_id not in (select undoes from lake.decisions where undoes is not null)
    union
    select
        undone.decision_id,
        not exists (
            from recurring.judged as known
            join lake.decisions as undo using (decision_id)
            where undo.undoes = undone.decision_id and known.counts
        )
    from judged
    join lake.decisions as undo using (decision_id)
    join lake.decisions as undone on undo.undoes = undone.decision_id
)
select decisions.*
from lake.decisions as decisions
join judged using (decision_id)
where judged.counts and decisions.kind <> 'undo';

create view last_requeues as
select source, title_key, any_value(title) as title, max(decided_at) as decided_at
from lake.decisions
where kind = 'requeue'
group by source, title_key;

create view controls as from lake.controls;

create view group_steps as from lake.group_steps;

create view run_tags as from lake.run_tags;

-- Work that is held back, by the newest pause, drain or resume of each source, each interrogation, or of all.
create view held_back as
select scope, name, action, author, reason, said_at as since
from lake.controls
where action <> 'prioritize'
qualify row_number() over (partition by scope, name order by said_at desc, control_id desc) = 1 and action <> 'resume';

-- Questions that a person should decide, the most important first, without those that were decided meanwhile.
create view needs_review as
with decided as materialized (from standing_decisions),
-- The last decision of each pair.
of_pairs as (
    from decided
    where kind in ('merge', 'split')
    qualify row_number() over (
        partition by least(entity_id, other_id), greatest(entity_id, other_id)
        order by decided_at desc, decision_id desc
    ) = 1
),
judged_statements as (
    select statement_id, arg_max(kind, struct_pack(at := decided_at, id := decision_id)) as kind
    from decided
    where kind in ('accept', 'reject')
    group by statement_id
),
-- One of several statements was accepted, or at most one is not rejected.
agreed as (
    select item_id
    from (
        select item_id, len(statement_ids) as statements, unnest(statement_ids) as statement_id
        from lake.review_items
        where kind = 'statement'
    )
    left join judged_statements as judged using (statement_id)
    group by item_id, statements
    having bool_or(judged.kind = 'accept') or count(*) - count(judged.kind) <= (statements > 1)::integer
),
-- By page id where both have one, else by title: as `concerns` of `decisions/log.py`.
typed as (
    select items.item_id, items.kind, items.since, decisions.decided_at
    from lake.review_items as items
    join decided as decisions using (title_key)
    where decisions.kind = 'classify' and (items.page_id is null or decisions.page_id is null)
    union all
    select items.item_id, items.kind, items.since, decisions.decided_at
    from lake.review_items as items
    join decided as decisions using (source, page_id)
    where decisions.kind = 'classify'
),
settled as (
    from agreed
    union all
    select item_id
    from lake.review_items as items
    join of_pairs on
        least(of_pairs.entity_id, of_pairs.other_id) = least(items.entity_id, items.other_id)
        and greatest(of_pairs.entity_id, of_pairs.other_id) = greatest(items.entity_id, items.other_id)
    where items.kind = 'pair'
    union all
    -- The id of an item names the two records that were compared. They may be merged into others by now.
    select unnest(['pair-' || entity_id || '+' || other_id, 'pair-' || other_id || '+' || entity_id])
    from of_pairs
    union all
    select item_id
    from typed
    where kind = 'page' or (kind in ('entity', 'promotion') and coalesce(decided_at > since, true))
    union all
    select item_id
    from (select item_id, unnest(covered_by) as title_key from lake.review_items where kind = 'page')
    join decided as decisions using (title_key)
    where decisions.kind in ('template', 'category')
    union all
    select item_id
    from lake.review_items as items
    join (
        select entity_id, decided_at, false as stays from decided where kind in ('promote', 'suppress')
        union all
        select entity_id, decided_at, false from of_pairs where kind = 'merge'
        union all
        select other_id, decided_at, true from of_pairs where kind = 'merge'
    ) using (entity_id)
    -- A candidate that another was merged into is a candidate still.
    where (items.kind = 'entity' or (items.kind = 'promotion' and not stays)) and coalesce(decided_at > since, true)
)
from lake.review_items
anti join settled using (item_id)
order by rank desc, item_id;
