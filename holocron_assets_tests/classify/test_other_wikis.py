"""Pages of other wikis and languages: rules may know them or not, but are never sure of what is wrong."""

import pytest
from pages_read import typed

FOREIGN = [
    ("Toulouse", "Toulouse ist eine Stadt in Frankreich.", ["Ort in Okzitanien"], "Infobox Gemeinde"),
    ("Kolibris", "Die Kolibris sind eine Familie der Vögel.", ["Vögel", "Kolibris"], None),
    ("Bachforelle", "Die Bachforelle war ein Fisch, der im Bach lebte.", ["Fische"], None),
    ("Was ist das", "Was a Mann! Er war the der Stadt.", ["Männer"], "Infobox Person des Tages"),
    ("Napoléon", "Napoléon était un militaire français.", ["Naissance en 1769"], "Infobox Biographie2"),
    ("Le Horla", "Le Horla est une nouvelle de Guy de Maupassant.", ["Nouvelles", "Films"], "Infobox Livre"),
    ("東京", "東京は日本の首都である。", ["日本の都市"], "基礎情報 都市"),
    ("Sushi", "寿司は、酢飯と魚を組み合わせた料理。", ["日本の食文化"], None),
    ("Bram", "Bram is een man die in de stad woont.", ["Mannen"], None),
    ("Miguel", "Miguel es un pueblo de la provincia.", ["Pueblos"], "Ficha de localidad"),
    ("Москва", "Москва - столица России.", ["Города России"], "Государство"),
    ("Kebab", "Kebap bir et yemeğidir.", ["Yemekler"], None),
]

ENGLISH = [
    ("Pancake", "A pancake is a flat cake.", ["Breakfast dishes"], "Recipe", {"ObjectItem"}),
    ("Carbonara", "Carbonara is a pasta dish made with egg.", ["Pasta dishes"], None, {"ObjectItem"}),
    ("Sauté", "Sautéing is a method of cooking.", ["Techniques"], None, {"Concept"}),
    ("Whisk", "Whisk the eggs until they are a foam.", [], None, set()),
    ("Vale F.C.", "Vale F.C. is a football club.", ["Clubs"], "Infobox football club", {"Organization"}),
    ("2005 Cup final", "The 2005 Cup final was a football match.", [], None, {"EventConflict"}),
    ("Offside", "Offside is one of the laws in football.", ["Laws of football"], None, {"Concept"}),
    ("Quicksort", "Quicksort is an efficient sorting algorithm.", ["Algorithms"], None, {"Concept"}),
    ("System.out", "System.out is a static field.", ["Java"], "System", set()),
    ("Event", "An event is an object that is sent to listeners.", ["DOM"], "Event", set()),
    ("Class", "A class is a template for objects.", ["Classes"], "Class", set()),
    ("Master", "A master is the default branch of a repository.", ["Git"], None, set()),
    ("Kernel", "The kernel is the core of an operating system.", ["Kernels"], None, set()),
    ("Doctor", "A doctor is a person who heals.", ["Occupations"], None, {"Concept"}),
    ("Publisher", "Vessa House is a publisher.", ["Publishers"], None, {"Organization"}),
    ("Heart", "The heart is a muscular organ.", ["Organs"], "Infobox anatomy", set()),
    ("Pikachu", "Pikachu is an Electric-type Pokémon.", ["Electric-type Pokémon"], "Pokémon Infobox", set()),
    ("Fireball", "Fireball is a spell that burns.", ["Spells"], "Spell", {"Concept"}),
    ("Iron Sword", "The Iron Sword is a weapon.", ["Weapons"], "Infobox item", {"ObjectItem"}),
    ("Everest", "Everest is the highest mountain.", ["Mountains"], "Infobox mountain", {"LocationPlace"}),
    ("Titanic", "Titanic was an ocean liner.", ["Ocean liners"], "Infobox ship begin", {"VehicleCraft"}),
    ("Influenza", "Influenza is an infectious disease.", [], "Infobox medical condition", {"Concept"}),
    ("Cat", "The cat is a small mammal.", ["Cats"], "Speciesbox", {"Species"}),
    ("Mouse", "A computer mouse is a pointing device.", ["Mice"], None, {"ObjectItem"}),
    ("Reeds", "The Reeds were an English rock band.", ["Rock groups"], None, {"Organization"}),
    ("Cutty Sark", "Cutty Sark (1869-1922) was a clipper.", [], None, set()),
    ("Route 9", "Route 9 (1926-1985) was a parkway.", [], None, set()),
    ("Acme", "Acme Corp (d.b.a. Zenith) was a maker of anvils.", [], None, set()),
    ("Vasa Line", "Vasa Line (1966-2013) was a Finnish ferry operator.", [], None, {"Organization"}),
    ("1998 season", "The 1998 NFL season was the 79th regular season.", [], None, {"EventConflict"}),
    ("Monsoon", "The monsoon was a rainy season.", [], None, {"TimePeriod"}),
    ("Ace", "The ace is a playing card.", [], None, {"ObjectItem"}),
    ("Notepad", "Notepad is a text editor.", [], None, {"ObjectItem"}),
    ("Apache", "Apache is a web server.", [], None, {"ObjectItem"}),
    ("VLC", "VLC is a media player.", [], None, {"ObjectItem"}),
    ("Copper", "Copper is a conductor.", [], None, {"ObjectItem"}),
    ("Rosaceae", "Rosaceae is a family of flowering plants.", [], None, set()),
    ("Primates", "Primates is an order of mammals.", [], None, set()),
    ("Linux", "Linux is a family of operating systems.", [], None, set()),
    ("Plasma", "Plasma is a state of matter.", [], None, set()),
    ("Depression", "Depression is a mental state of low mood.", [], None, {"Concept"}),
    ("Stoicism", "Stoicism is a school of Hellenistic philosophy.", [], None, set()),
    ("Austrian school", "The Austrian school is a school of economic thought.", [], None, set()),
    ("Impressionism", "Impressionism was a 19th-century art movement.", [], None, {"Concept"}),
    ("Romance languages", "The Romance languages are a language family.", [], None, {"Concept"}),
    ("Chess", "Chess is a board game for two players.", [], None, set()),
    ("Red Cross", "The Red Cross is a humanitarian movement.", [], None, {"Organization"}),
    ("Main Street Wiki", "Welcome to a wiki that anyone can edit.", [], None, set()),
]


@pytest.mark.parametrize(("title", "lead", "categories", "template"), FOREIGN)
def test_a_page_in_another_language_is_left_to_review(
    title: str, lead: str, categories: list[str], template: str | None
) -> None:
    answer = typed(title, lead, categories=categories, infobox_template=template)
    assert answer["confidence"] < 0.8
    assert answer["needs_review"]


@pytest.mark.parametrize(("title", "lead", "categories", "template", "settled"), ENGLISH)
def test_a_page_of_another_wiki_is_settled_rightly_or_not_at_all(
    title: str, lead: str, categories: list[str], template: str | None, settled: set[str]
) -> None:
    answer = typed(title, lead, categories=categories, infobox_template=template)
    assert answer["needs_review"] or answer["primary_type"] in settled
