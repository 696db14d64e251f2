-- Tags, and what carries them.

create view tags as from lake.tags;

create view tag_relations as from lake.tag_relations;

create view page_tags as
select tags.*
from lake.page_tags as tags
semi join current_answers as current
    on tags.batch = current.batch and tags.title_key = current.title_key;

create view entity_tags as from lake.entity_tags;
