"""Pages of a small wiki in several languages, in our own words, and what is to be read off them."""

from typing import NamedTuple


class Written(NamedTuple):
    """A page as it is written.

    Attributes:
        kind: what it is.
        title: its title.
        wikitext: its text.
        sentence: the first sentence of its lead.
        type: the type that the rules settle by the lead, with the infobox and the categories removed.
    """

    kind: str
    title: str
    wikitext: str
    sentence: str | None
    type: str


_DE = (
    Written(
        "person",
        "Tarn Wesser",
        "{{Zitat|Text=Der Wind dreht.|Autor=Tarn}}\n{{Infobox Person\n|Spezies=[[Mensch]]"
        "\n|Geburt=14. März 1977\n|Größe=1,82 m\n}}\n'''Tarn Wesser''' war ein erfahrener "
        "[[Frachter]]pilot aus Ondrel, der Dr. Mohn kannte. Er flog viel.\n"
        "== Quellen ==\n* eine\n[[Kategorie:Piloten]]",
        "Tarn Wesser war ein erfahrener Frachterpilot aus Ondrel, der Dr. Mohn kannte.",
        "PersonCharacter",
    ),
    Written(
        "place",
        "Ondrel",
        "'''Ondrel''' ist eine große Hafenstadt im Süden des Kontinents.\n[[Kategorie:Städte]]",
        "Ondrel ist eine große Hafenstadt im Süden des Kontinents.",
        "LocationPlace",
    ),
    Written(
        "work",
        "Der letzte Anker",
        "'''Der letzte Anker''' ist ein historischer Roman von Ida Fern.\n[[Kategorie:Romane]]",
        "Der letzte Anker ist ein historischer Roman von Ida Fern.",
        "WorkMedia",
    ),
    Written(
        "disambiguation",
        "Anker (Begriffsklärung)",
        "'''Anker''' steht für:\n* [[Anker (Schiff)]]\n* [[Der letzte Anker]]",
        "Anker steht für:",
        "ReferenceMeta",
    ),
    Written(
        "list", "Liste der Häfen", "* [[Ondrel]]\n* [[Varn]]\n[[Kategorie:Listen]]", None, "ReferenceMeta"
    ),
    Written("redirect", "Tarn", "#WEITERLEITUNG [[Tarn Wesser]]", None, "ReferenceMeta"),
)
_FR = (
    Written(
        "person",
        "Lise Aubert",
        "{{Infobox Personnage\n|espèce=[[Humain]]\n|naissance=1er mai 1977\n|taille=1,64 m\n}}\n"
        "'''Lise Aubert''' était une grande [[pilote]] de navette originaire d'Ondrel. Elle volait.\n"
        "== Coulisses ==\nRien.\n[[Catégorie:Pilotes]]",
        "Lise Aubert était une grande pilote de navette originaire d'Ondrel.",
        "PersonCharacter",
    ),
    Written(
        "place",
        "Ondrel",
        "'''Ondrel''' est l'une des villes portuaires du sud.\n[[Catégorie:Villes]]",
        "Ondrel est l'une des villes portuaires du sud.",
        "LocationPlace",
    ),
    Written(
        "work",
        "La Dernière Ancre",
        "'''''La Dernière Ancre''''' est un roman historique d'Ida Fern.\n[[Catégorie:Romans]]",
        "La Dernière Ancre est un roman historique d'Ida Fern.",
        "WorkMedia",
    ),
    Written(
        "disambiguation",
        "Ancre",
        "'''Ancre''' peut désigner :\n* [[Ancre (navire)]]\n{{Homonymie}}",
        "Ancre peut désigner :",
        "ReferenceMeta",
    ),
    Written("list", "Liste des ports", "* [[Ondrel]]\n[[Catégorie:Listes]]", None, "ReferenceMeta"),
    Written("redirect", "Lise", "#REDIRECTION [[Lise Aubert]]", None, "ReferenceMeta"),
)
_ES = (
    Written(
        "person",
        "Rosa Lumbre",
        "{{Ficha de personaje|especie=[[Humano]]|nacimiento=25 de mayo de 1977|altura=1,7 m}}\n"
        "'''Rosa Lumbre''' fue una famosa [[capitán]] contrabandista de Ondrel. Navegó mucho.\n"
        "== Referencias ==\nNada.\n[[Categoría:Contrabandistas]]",
        "Rosa Lumbre fue una famosa capitán contrabandista de Ondrel.",
        "PersonCharacter",
    ),
    Written(
        "place",
        "Ondrel",
        "'''Ondrel''' es una de las ciudades costeras del sur.\n[[Categoría:Ciudades]]",
        "Ondrel es una de las ciudades costeras del sur.",
        "LocationPlace",
    ),
    Written(
        "work",
        "La última ancla",
        "'''''La última ancla''''' es una novela histórica de Ida Fern.\n[[Categoría:Novelas]]",
        "La última ancla es una novela histórica de Ida Fern.",
        "WorkMedia",
    ),
    Written(
        "disambiguation",
        "Ancla (desambiguación)",
        "'''Ancla''' puede referirse a:\n* [[Ancla (barco)]]",
        "Ancla puede referirse a:",
        "ReferenceMeta",
    ),
    Written("list", "Lista de puertos", "* [[Ondrel]]\n[[Categoría:Listas]]", None, "ReferenceMeta"),
    Written("redirect", "Rosa", "#REDIRECCIÓN [[Rosa Lumbre]]", None, "ReferenceMeta"),
)
_RU = (
    Written(
        "person",
        "Тарн Весс",
        "{{Цитата|текст=Ветер меняется.|автор=Тарн}}\n{{Персонаж\n|вид=[[Человек]]\n"
        "|дата рождения=25 мая 1977 года\n|рост=1,82 м\n}}\n"
        "'''Тарн Весс''' (англ. ''Tarn Vess'') был опытным "
        "[[пилот]]ом с Ондрела, жившим в 12 г. Он летал.\n== Примечания ==\nНичего.\n[[Категория:Пилоты]]",
        "Тарн Весс (англ. Tarn Vess) был опытным пилотом с Ондрела, жившим в 12 г. Он летал.",
        "PersonCharacter",
    ),
    Written(
        "place",
        "Ондрел",
        "'''Ондрел''' — крупный портовый город на юге материка.\n[[Категория:Города]]",
        "Ондрел — крупный портовый город на юге материка.",
        "LocationPlace",
    ),
    Written(
        "work",
        "Последний якорь",
        "«'''Последний якорь'''» — это исторический роман Иды Ферн.\n[[Категория:Романы]]",
        "«Последний якорь» — это исторический роман Иды Ферн.",
        "WorkMedia",
    ),
    Written(
        "disambiguation",
        "Якорь (значения)",
        "'''Якорь''' может означать:\n* [[Якорь (корабль)]]",
        "Якорь может означать:",
        "ReferenceMeta",
    ),
    Written("list", "Список портов", "* [[Ондрел]]\n[[Категория:Списки]]", None, "ReferenceMeta"),
    Written("redirect", "Тарн", "#ПЕРЕНАПРАВЛЕНИЕ [[Тарн Весс]]", None, "ReferenceMeta"),
)

PAGES = {"de": _DE, "es": _ES, "fr": _FR, "ru": _RU}
FACTS = {
    "de": {"species": "Mensch", "born": "14. März 1977", "height": "1,82 m"},
    "es": {"species": "Humano", "born": "25 de mayo de 1977", "height": "1,7 m"},
    "fr": {"species": "Humain", "born": "1er mai 1977", "height": "1,64 m"},
    "ru": {"species": "Человек", "born": "25 мая 1977", "height": "1,82 м"},
}
"""What the infobox of each language's person says."""
