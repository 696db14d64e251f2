-- What tags are made from, once a snapshot: the tags of pages as they are now, a mark of each page's, and category pages.

create temp view if not exists present_page_tags as
select tags.*
from lake.page_tags as tags
semi join present_answers as present
    on tags.batch = present.batch and tags.title_key = present.title_key;

create temp table if not exists page_tag_marks as
select source, title_key, {page_hash} as mark
from present_page_tags
group by source, title_key;
