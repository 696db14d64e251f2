"""A small wiki in German, Spanish, French and Russian: what its pages are, and what they say."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pages_read import signals
from wiki_pages import FACTS, PAGES, Written

from holocron_assets.classify.rules import classify_page, load_rules
from holocron_assets.crawl.dumps.export import read_site
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import load_rule_book
from holocron_assets.lake.declaration.schema import Row
from holocron_assets.lake.titles import Site
from holocron_assets.signals.extract import signal_row
from holocron_assets.signals.infobox.values import infobox_values
from holocron_assets.signals.sentences import first_sentence
from holocron_assets.signals.vocabulary import page_words

ALL = [(code, page) for code, pages in PAGES.items() for page in pages]
BOLD = "'''"
ARTICLES = [(code, page) for code, page in ALL if page.kind in {"person", "place", "work"}]


@cache
def site_of(code: str, tmp: Path) -> Site:
    """The wiki of an export that states its language and no namespaces."""
    path = tmp / f"{code}.xml"
    path.write_text(f'<mediawiki xml:lang="{code}"><siteinfo><sitename>W</sitename></siteinfo></mediawiki>')
    return Site.from_row(read_site(path, "wiki"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


def typed(title: str, lead: str, code: str) -> Row:
    return classify_page(signals(title, lead), load_rules(code))


def row_of(page: Written) -> dict[str, Any]:
    names = ("source", "batch", "title_key", "namespace", "page_id", "revision_id")
    return dict.fromkeys(names, 0) | {"source": "wiki", "title": page.title, "wikitext": page.wikitext}


def signals_of(code: str, page: Written, folder: Path) -> Row:
    return signal_row(row_of(page), site_of(code, folder))


def stated_by(code: str, page: Written, folder: Path) -> list[Row]:
    """What the infobox of a page states."""
    site = site_of(code, folder)
    template = signal_row(row_of(page), site)["infobox_template"]
    values = infobox_values(page.wikitext, template, site, lambda _: False)
    return page_fact_rows(row_of(page), template, values, load_rule_book("wiki", language=code))


@pytest.mark.parametrize(("code", "page"), ALL)
def test_a_page_shows_what_it_is_by_the_words_of_its_language(code: str, page: Written, folder: Path) -> None:
    signals = signals_of(code, page, folder)
    assert signals["extraction_error"] is None
    assert signals["is_disambiguation"] == (page.kind == "disambiguation")
    assert signals["is_list"] == (page.kind == "list")
    assert signals["is_redirect"] == (page.kind == "redirect")
    assert signals["lead_sentence"] == page.sentence


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("es", "Pell es una ciudad de EE. UU. Aún es grande."),
        ("es", "Pell es un cuerpo de las FF. AA. Cubanas, y de RR. HH. Unidos."),
        ("ru", "Пелл — это город в Моск. обл. России и в респ. Коми."),
        ("ru", "Пелл — это пос. Ленина, дер. Ивана и р-н. Орла."),
        ("de", "Pell ist eine Stadt im Kt. Bern, Bez. Thun, Lkr. Sonne."),
        ("de", "Pell (griech. Pella) ist eine Stadt, russ. Pjella, ital. Pello, österr. Pöll."),
    ],
)
def test_the_abbreviations_of_a_language_end_no_sentence(code: str, sentence: str) -> None:
    assert first_sentence(f"{sentence}\nX.", 1_000, page_words(code).stops) == sentence


def test_a_name_that_is_an_abbreviation_too_ends_a_sentence() -> None:
    text = "Pell liegt in der Schweiz. Es ist klein."
    assert first_sentence(text, 1_000, page_words("de").stops) == "Pell liegt in der Schweiz."


@pytest.mark.parametrize(
    ("code", "template", "page_type"),
    [
        ("fr", "Infobox Personnage (fiction)", "PersonCharacter"),
        ("fr", "Infobox Unité militaire", "Organization"),
        ("es", "Ficha de unidad militar", "Organization"),
        ("fr", "Infobox film", "WorkMedia"),
        ("de", "Infobox Fußballspieler", "PersonCharacter"),
        ("de", "Infobox Snookerspieler", "PersonCharacter"),
        ("de", "Infobox Rugby-Union-Spieler", "PersonCharacter"),
    ],
)
def test_the_name_of_an_infobox_is_read_in_the_language_before_english(
    code: str, template: str, page_type: str
) -> None:
    answer = classify_page(signals("Kap", infobox_template=template), load_rules(code))
    assert answer["primary_type"] == page_type


@pytest.mark.parametrize("code", PAGES)
def test_a_redirect_leads_where_its_word_in_the_language_says(code: str, folder: Path) -> None:
    by_kind = {page.kind: page for page in PAGES[code]}
    signals = signals_of(code, by_kind["redirect"], folder)
    assert signals["redirect_target"] == by_kind["person"].title


@pytest.mark.parametrize(
    ("code", "fields", "lead", "sentence"),
    [
        (
            "es",
            "nacimiento={{fecha|3|mayo|1921|edad}}\n|altura={{unidad|1,8|m}}",
            "nació en 1921 y midió {{unidad|1,8|m}}.",
            "Pell nació en 1921 y midió 1,8 m.",
        ),
        (
            "fr",
            "date de naissance={{date de naissance|3|mai|1921}}\n|taille={{unité|1,8|m}}",
            "est un pilote né le {{date|3|mai|1921}}.",
            "Pell est un pilote né le 3 mai 1921.",
        ),
        (
            "ru",
            "дата рождения={{дата рождения|3|5|1921}}\n|рост={{число|1,8}} м",
            "— пилот ростом {{s|{{число|1,8}} м}}.",
            "Pell — пилот ростом 1,8 м.",
        ),
    ],
)
def test_dates_and_measures_in_templates_of_a_language_are_read(
    code: str, fields: str, lead: str, sentence: str, folder: Path
) -> None:
    text = f"{{{{Infobox\n|{fields}\n}}}}\n{BOLD}Pell{BOLD} {lead}"
    page = Written("person", "Pell", text, sentence, "PersonCharacter")
    assert signals_of(code, page, folder)["lead_sentence"] == sentence
    stated = {row["key"]: row for row in stated_by(code, page, folder)}
    assert int(stated["born"]["date_from"]) == 1921
    assert (stated["height"]["number"], stated["height"]["unit"]) == (1.8, "м" if code == "ru" else "m")


@pytest.mark.parametrize(("code", "page"), ALL)
def test_the_rules_settle_a_page_by_the_words_of_its_language(code: str, page: Written, folder: Path) -> None:
    answer = classify_page(signals_of(code, page, folder), load_rules(code))
    assert (answer["primary_type"], answer["needs_review"]) == (page.type, False)


@pytest.mark.parametrize(("code", "page"), ARTICLES)
def test_a_lead_alone_settles_the_type(code: str, page: Written, folder: Path) -> None:
    signals = {**signals_of(code, page, folder), "infobox_template": None, "categories": []}
    answer = classify_page(signals, load_rules(code))
    assert (answer["primary_type"], answer["needs_review"]) == (page.type, False)
    assert [piece["stage"] for piece in answer["evidence"]] == ["lead"]


@pytest.mark.parametrize(("code", "page"), ARTICLES)
def test_a_category_alone_shows_the_type(code: str, page: Written, folder: Path) -> None:
    signals = {**signals_of(code, page, folder), "infobox_template": None, "lead_sentence": None}
    answer = classify_page(signals, load_rules(code))
    assert answer["primary_type"] == page.type
    assert answer["needs_review"]


@pytest.mark.parametrize(
    ("code", "lead", "page_type"),
    [
        ("de", "Der Seewolf war ein Sternjäger, der dem Bund diente.", "VehicleCraft"),
        ("de", "Ida Fern war eine bekannte Schriftstellerin und Malerin.", "PersonCharacter"),
        ("de", "Die Schlacht am Kap war eine Seeschlacht.", "EventConflict"),
        ("de", "Die Windmöwen sind eine der ältesten Spezies von Ondrel.", "Species"),
        ("de", "Kap ist eine Stadt nördlich von Ondrel.", "LocationPlace"),
        ("de", "Das Ankerlied ist eine Art Lied der Matrosen.", "WorkMedia"),
        ("fr", "Le Mistral était un chasseur stellaire de la garde.", "VehicleCraft"),
        ("fr", "L'Ordre du Phare est une organisation secrète.", "Organization"),
        ("fr", "La lame de sel est une arme utilisée par les marins.", "ObjectItem"),
        ("fr", "Les Marées est une bande dessinée d'Ida Fern.", "WorkMedia"),
        ("es", "El Albatros era un carguero ligero.", "VehicleCraft"),
        ("es", "Los salinos eran una especie de anfibios.", "Species"),
        ("es", "La guerra del faro fue un conflicto entre dos ciudades.", "EventConflict"),
        ("ru", "Варн — ледяная планета на краю сектора.", "LocationPlace"),
        ("ru", "Битва у маяка была крупным сражением войны.", "EventConflict"),
        ("ru", "Т-7 — ремонтный дроид, построенный на Ондреле.", "Droid"),
        ("ru", "Соляной клинок — оружие моряков.", "ObjectItem"),
        ("ru", "Орден Маяка является тайной организацией.", "Organization"),
        ("es", "Ida Fern era un miembro de la Orden del Faro.", "PersonCharacter"),
        ("fr", "Ida Fern était un membre du clan du Phare.", "PersonCharacter"),
        ("ru", "Ида Ферн была членом банды.", "PersonCharacter"),
        ("de", "Ida Fern war ein Kartenspieler aus Ondrel.", "PersonCharacter"),
        ("de", "Ondrel ist eine in Varn gelegene Stadt.", "LocationPlace"),
        ("de", "Ida Fern war ein auf Ondrel lebender Schmuggler.", "PersonCharacter"),
        ("de", "Gezeiten ist ein im Jahr 2003 von Ida Fern veröffentlichter Roman.", "WorkMedia"),
        ("de", "Ondrel ist eine von neun bekannten Personen.", "PersonCharacter"),
        ("fr", "Le Phare était une opération militaire.", "EventConflict"),
        ("es", "El Faro era una unidad militar.", "Organization"),
        ("es", "Las Mareas es una banda sonora de Ida Fern.", "WorkMedia"),
        ("es", "Las Mareas es una serie de televisión de Ondrel.", "WorkMedia"),
        ("es", "Los salinos son una antigua forma de vida.", "Species"),
        ("es", "El Faro fue una era de paz.", "TimePeriod"),
        ("es", "Ida Fern fue una conocida actriz de Ondrel.", "PersonCharacter"),
        ("es", "Ida Fern fue una actriz conocida por su voz.", "PersonCharacter"),
        ("ru", "Ида Ферн — известный актёр из Ондрела.", "PersonCharacter"),
        ("ru", "Кап был известный актёр.", "PersonCharacter"),
        ("ru", "Кап — актёр, известный голосом.", "PersonCharacter"),
        ("fr", "Les Marées est une émission de télévision d'Ondrel.", "WorkMedia"),
        ("fr", "Les salins sont une forme de vie.", "Species"),
        ("ru", "Клоны — элитные солдаты армии.", "PersonCharacter"),
        ("ru", "Варны — малые и средние корабли.", "VehicleCraft"),
        ("ru", "Варн — модель истребителя.", "VehicleCraft"),
        ("ru", "Варн — лидер группы.", "PersonCharacter"),
        ("ru", "Варн (1921, село Кап, область (ныне край) — 1999, город Фен) — актёр.", "PersonCharacter"),
        ("ru", "Ключ — многозначный термин.", "ReferenceMeta"),
        ("fr", "Lys est un terme qui peut désigner :", "ReferenceMeta"),
        ("fr", "Le terme Lys peut désigner :", "ReferenceMeta"),
        ("fr", "Kap est une ville dont le nom peut signifier la mer.", "LocationPlace"),
        ("es", "El término Lys puede hacer referencia a:", "ReferenceMeta"),
        ("es", "Kap es una ciudad cuyo nombre puede significar mar.", "LocationPlace"),
        ("de", "Lys ist ein Begriff, der steht für:", "ReferenceMeta"),
        ("de", "Jens ist ein männlicher Vorname.", "Concept"),
        ("de", "Ondrel ist ein Teilgebiet der Physik.", "Concept"),
        ("de", "Ondrel ist eine Inselgruppe im Meer.", "LocationPlace"),
        ("de", "Ondrel ist die Luftwaffe des Bundes.", "Organization"),
        ("de", "Ondrel ist eine Rockgruppe.", "Organization"),
        ("de", "Ondrel war ein Fußballspiel.", "EventConflict"),
        ("de", "Ondrel ist ein Strategiespiel.", "WorkMedia"),
        ("de", "Ondrel ist ein sowjetischer Abfangjäger.", "VehicleCraft"),
        ("de", "Ondrel war ein Kopfgeldjäger.", "PersonCharacter"),
        ("de", "Ondrel ist ein tragbarer MP3-Spieler.", "ObjectItem"),
        ("de", "Ondrel ist ein Fußballspieler.", "PersonCharacter"),
        ("de", "Ondrel war einer der besten Fußballspieler.", "PersonCharacter"),
        ("de", "Ondrel war der beste Strategiespieler.", "PersonCharacter"),
        ("de", "Ondrel war einer der besten Snookerspieler.", "PersonCharacter"),
        ("de", "Ondrel ist das Mittelschiff einer Kirche.", "LocationPlace"),
        ("fr", "Kap est une base militaire.", "LocationPlace"),
        ("fr", "La somme est une opération élémentaire.", "Concept"),
        ("fr", "Le sel est un agent conservateur.", "ObjectItem"),
        ("es", "Kap es una estación de tren.", "LocationPlace"),
        ("es", "La nave es la nave central de la iglesia.", "LocationPlace"),
        ("es", "Kap es un partido político.", "Organization"),
        ("es", "La suma es una operación aritmética.", "Concept"),
        ("ru", "Кап — рыцарский орден.", "Organization"),
        ("ru", "Кап — искусственный спутник Земли.", "VehicleCraft"),
        ("ru", "Алгебра — область математики.", "Concept"),
        ("ru", "Кап — член предложения.", "Concept"),
        ("de", "Fern Kap war ein Vampirjäger aus Ondrel.", "PersonCharacter"),
        ("de", "Ondrel ist eine Theatergruppe.", "Organization"),
        ("de", "Ondrel ist ein Aufbauspiel.", "WorkMedia"),
        ("de", "Ondrel ist ein Singspiel in drei Akten.", "WorkMedia"),
        ("fr", "Kap est une unité d'élite de la garde.", "Organization"),
        ("fr", "Kap est une unité de combat.", "Organization"),
        ("fr", "Kap est une unité spéciale.", "Organization"),
        ("fr", "Kap est une base sous-marine.", "LocationPlace"),
        ("fr", "Kap est une base de lancement.", "LocationPlace"),
        ("es", "Kap es una base espacial.", "LocationPlace"),
        ("es", "Kap es una estación del metro de Ondrel.", "LocationPlace"),
        ("es", "Kap es una estación de esquí.", "LocationPlace"),
        ("es", "Kap es un partido comunista.", "Organization"),
        ("es", "Kap es una unidad de élite.", "Organization"),
        ("es", "El Kap es una nave industrial de la flota.", "VehicleCraft"),
        ("ru", "Кап — орден джедаев.", "Organization"),
        ("ru", "Кап — союз писателей.", "Organization"),
        ("ru", "Кап — профессиональный союз.", "Organization"),
        ("de", "Fern ist der Familienname folgender Personen:", "ReferenceMeta"),
    ],
)
def test_a_lead_is_read_by_the_grammar_of_its_language(code: str, lead: str, page_type: str) -> None:
    answer = typed("Kap", lead, code)
    assert (answer["primary_type"], answer["needs_review"]) == (page_type, False)


@pytest.mark.parametrize(
    ("code", "lead"),
    [
        ("de", "Ein Kapitän ist ein Offizier auf einem Schiff."),
        ("fr", "Un capitaine est un officier de la flotte."),
        ("de", "Die Möwen sind eine Familie der Vögel."),
        ("fr", "Le Phare est une nouvelle d'Ida Fern."),
        ("es", "Anclar es muy importante."),
        ("ru", "Кап был очень красив."),
        ("ru", "Кап был двигатель корабля."),
        ("de", "Fern Kap war ein Schlosser."),
        ("de", "Der Kap ist der deutsche Name mehrerer Pilze."),
        ("de", "Fern Kap ist der in Ondrel."),
        ("de", "Fern Kap war ein Schiffer."),
        ("fr", "Le Phare était une cellule rebelle."),
        ("es", "El Faro era un satélite espía."),
        ("de", "Der Dom ist ein Beispiel für gotische Baukunst."),
        ("de", "Der Kap ist ein Standardjäger der Flotte."),
        ("de", "Die Kap sind eine Farbgruppe."),
        ("de", "Der Kap ist ein Videospieler."),
        ("fr", "Le mètre est l'unité de base de longueur."),
        ("fr", "Une aorte est un vaisseau sanguin."),
        ("fr", "Le bras est un membre supérieur."),
        ("fr", "Le Kap est une base de données."),
        ("fr", "Le Kap est le siège du gouvernement."),
        ("fr", "Le Kap est un ouvrage militaire."),
        ("es", "El pascal es una unidad de presión."),
        ("es", "El Kap es una estación de radio."),
        ("es", "El verano es una de las cuatro estaciones."),
        ("es", "El Kap es un partido de la provincia."),
        ("ru", "Кап — военный орден СССР."),
        ("ru", "Кап — союз в русском языке."),
        ("es", "La Ruta 9 (1926-1985) fue una alameda."),
        ("es", "Los primates son un orden de mamíferos."),
        ("es", "El estoicismo es una escuela de filosofía."),
        ("de", "Die Stoa ist eine Schule der Philosophie."),
        ("fr", "Le stoïcisme est une école de philosophie."),
        ("ru", "Стоицизм — школа философии."),
        ("ru", "Варн — вокалист группы «Маяк»."),
        ("ru", "Варн — нападающий клуба «Маяк»."),
        ("ru", "Варн — резиденция канцлера и сената."),
        ("ru", "Ядро — центральная часть планеты."),
        ("ru", "Приматы — отряд плацентарных млекопитающих."),
    ],
)
def test_a_lead_that_names_a_role_or_nothing_known_is_left_to_review(code: str, lead: str) -> None:
    assert typed(lead.split()[1], lead, code)["needs_review"]


@pytest.mark.parametrize(
    ("lead", "page_type"),
    [
        ("Le siège de Kap (1745) fut un siège mené par les Français.", "EventConflict"),
        ("Kap est le siège du gouvernement.", "LocationPlace"),
    ],
)
def test_a_noun_with_two_meanings_is_evidence_that_settles_nothing(lead: str, page_type: str) -> None:
    answer = typed("Kap", lead, "fr")
    assert (answer["primary_type"], answer["needs_review"]) == (page_type, True)


@pytest.mark.parametrize("code", PAGES)
def test_an_infobox_of_the_language_is_read_by_the_rules_of_english_fields(code: str, folder: Path) -> None:
    rows = stated_by(code, PAGES[code][0], folder)
    assert {row["key"]: row["value"] for row in rows if row["key"] in FACTS[code]} == FACTS[code]
    [born] = [row for row in rows if row["key"] == "born"]
    assert (born["calendar"], int(born["date_from"])) == ("gregorian", 1977)
    [height] = [row for row in rows if row["key"] == "height"]
    assert 1.6 < height["number"] < 1.9


@pytest.mark.parametrize(
    ("code", "infobox", "said"),
    [
        ("es", "Ficha de película|director=Ida Fern|género=Drama", {"genre": "Drama"}),
        ("es", "Ficha de personaje|género=Masculino", {"gender": "Masculino"}),
        ("es", "Ficha de Jedi|género=Femenino (humana)", {"gender": "Femenino"}),
        ("es", "Ficha de taxón|género=Canis", {}),
        ("fr", "Infobox Cinéma (film)|genre=Drame", {"genre": "Drame"}),
        ("fr", "Infobox Personnage (fiction)|genre=Masculin", {"gender": "Masculin"}),
        ("fr", "Infobox Jedi|genre=Femme", {"gender": "Femme"}),
        ("ru", "Карточка оружия|вид=пулемёт", {}),
        ("ru", "Персонаж|вид=человек", {"species": "человек", "of_species": "человек"}),
        ("ru", "Джедай|вид=человек", {"species": "человек", "of_species": "человек"}),
        ("de", "Infobox Ort|Größe=12,5 km²", {}),
        ("de", "Infobox Ort|Größe=120.000 m²", {}),
        ("de", "Infobox Charakter|Größe=1,8 m", {"height": "1,8 m"}),
        ("de", "Infobox Fußballspieler|größe=185 cm", {"height": "185 cm"}),
        ("de", "Infobox Spezies|Größe=1,5 bis 2 Meter", {"height": "1,5 bis 2 Meter"}),
        ("de", "Infobox Model|Größe=1,75", {"height": "1,75"}),
    ],
)
def test_a_field_with_two_meanings_has_the_one_of_its_infobox(
    code: str, infobox: str, said: dict[str, str], folder: Path
) -> None:
    page = Written("person", "Kap", f"{{{{{infobox}|alias=Kapp}}}}\nKap.", None, "Unknown")
    rows = stated_by(code, page, folder)
    keys = {"gender", "genre", "species", "of_species", "height"}
    assert {row["key"]: row["value"] for row in rows if row["key"] in keys} == said


@pytest.mark.parametrize("code", PAGES)
def test_an_english_page_of_another_wiki_says_nothing_by_its_lead(code: str, folder: Path) -> None:
    page = Written("place", "Ondrel", "'''Ondrel''' is a planet.", None, "Unknown")
    for language in (code, "ja"):
        answer = classify_page(signals_of(code, page, folder), load_rules(language))
        assert answer["primary_type"] == "Unknown"


def test_a_wiki_in_a_language_without_a_file_still_knows_templates_that_are_named_in_english(
    folder: Path,
) -> None:
    page = Written(
        "species", "猫", "{{Taxobox|genus=Felis|ordo=Carnivora}}\n'''猫'''は動物。", None, "Species"
    )
    signals = signals_of("ja", page, folder)
    assert classify_page(signals, load_rules("ja"))["primary_type"] == "Species"
