"""Invented pages, the same ones each time: wikitext with infobox, links and categories."""

from dataclasses import dataclass
from random import Random

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
_NAMES = len(_SYLLABLES) ** 3
_SPREAD = 7919  # has no divisor in common with the number of names, so that no two pages share one


@dataclass(frozen=True)
class Kind:
    """What a page may be about: its infobox, its lead sentence, and its category."""

    infobox: str
    fields: str
    lead: str
    category: str


KINDS = [
    Kind("Character", "species", "was a human pilot who lived on the planet [[{other}]].", "Pilots"),
    Kind("Planet", "sector", "is a cold planet in the sector of [[{other}]].", "Planets"),
    Kind("Species", "homeworld", "are a species of tall swimmers from the planet [[{other}]].", "Species"),
    Kind("Starship", "owner", "was a starship that belonged to [[{other}]].", "Starships"),
    Kind("Droid", "owner", "was a repair droid in the service of [[{other}]].", "Droids"),
    Kind("Organization", "leader", "was an organization of traders, founded by [[{other}]].", "Guilds"),
]
_SENTENCES = [
    "Little was known of it before the first survey of [[{other}]] was published.",
    "Several witnesses from [[{other}]] remembered it in another way.",
    "The archive of [[{other}]] keeps a list of everything that was bought that year.",
    "Nobody who had seen [[{other}]] in winter expected the harvest to last.",
    "After the bridge had fallen, the road to [[{other}]] was closed for a decade.",
    "It was repaired twice, the second time by a workshop near [[{other}]].",
    "Songs about [[{other}]] mention it only in passing.",
    "A later report set the number at four hundred, which [[{other}]] denied.",
]


def title_of(number: int) -> str:
    """The title of a page by its number, from 0 to 215,999."""
    place = number * _SPREAD % _NAMES
    size = len(_SYLLABLES)
    name = "".join(_SYLLABLES[place // size**power % size] for power in range(3))
    return name.capitalize()


def text_of(number: int, revision: int, *, pages: int, characters: int) -> str:
    """The wikitext of a page.

    Args:
        number: the page's.
        revision: texts of two revisions differ.
        pages: how many pages there are to link to.
        characters: about how long the text becomes.
    """
    chance, kind, title = Random(f"{number}/{revision}"), KINDS[number % len(KINDS)], title_of(number)  # noqa: S311 - no secret

    def other() -> str:
        return title_of(chance.randrange(pages))

    parts = [
        f"{{{{{kind.infobox}\n|name={title}\n|{kind.fields}=[[{other()}]]\n|era=Year {revision}\n}}}}\n",
        f"'''{title}''' {kind.lead.format(other=other())}\n",
    ]
    length = sum(map(len, parts))
    while length < characters:
        paragraph = " ".join(chance.choice(_SENTENCES).format(other=other()) for _ in range(6))
        parts.append(f"\n==Chapter {len(parts) - 1}==\n{paragraph}\n")
        length += len(parts[-1])
    return f"{''.join(parts)}\n[[Category:{kind.category}]]\n[[Category:Year {number % 90}]]\n"
