"""Dates and numbers as wikis of other languages write them."""

import pytest

from holocron_assets.entities.facts.dates import find_dates, is_date
from holocron_assets.entities.facts.page_facts import page_fact_rows
from holocron_assets.entities.facts.rules import RuleBook, RuleFile
from holocron_assets.signals.infobox.values import InfoboxValue

DAY = (1977 + 4 / 12 + 24 / 372, 1977 + 4 / 12 + 25 / 372)
MONTH = (1977 + 4 / 12, 1977 + 5 / 12)
MONTHS = (1977 + 4 / 12, 1977 + 6 / 12)
DAYS = (1863.5, 1863.5 + 3 / 372)
BEFORE_CHRIST = (-1499, -1198)
NUMBERS = RuleFile.model_validate(
    {"rules": [{"fields": ["length"], "key": "length", "kind": "fact", "reads": "number"}]}
)


@pytest.mark.parametrize(
    ("code", "text", "span"),
    [
        ("de", "25. Mai 1977", DAY),
        ("de", "25.05.1977", DAY),
        ("de", "Mai 1977", MONTH),
        ("de", "44 v. Chr.", (-43, -42)),
        ("de", "12 000 v. Chr.", (-11_999, -11_998)),
        ("de", "12.000 v. Chr.", (-11_999, -11_998)),
        ("de", "14 n. Chr.", (14, 15)),
        ("de", "27 v. Chr. bis 14 n. Chr.", (-26, 15)),
        ("de", "seit 1977", (1977, None)),
        ("de", "vor 1977", (None, 1977)),
        ("de", "vor etwa 1977", (None, 1977)),
        ("de", "1977 oder später", (1977, None)),
        ("de", "nach der Schlacht im Jahr 1977", (1977, None)),
        ("de", "zwischen 1977 und 1983", (1977, 1984)),
        ("fr", "25 mai 1977", DAY),
        ("fr", "mai 1977", MONTH),
        ("fr", "44 av. J.-C.", (-43, -42)),
        ("fr", "10\u00a0000 av. J.-C.", (-9999, -9998)),
        ("fr", "14 apr. J.-C.", (14, 15)),
        ("fr", "avant 1977", (None, 1977)),
        ("fr", "depuis 1977", (1977, None)),
        ("fr", "en ou avant 1977", (None, 1978)),
        ("fr", "avant la bataille en 1977", (None, 1978)),
        ("es", "25 de mayo de 1977", DAY),
        ("es", "mayo de 1977", MONTH),
        ("es", "44 a. C.", (-43, -42)),
        ("es", "10 000 a. C.", (-9999, -9998)),
        ("es", "79 d. C.", (79, 80)),
        ("es", "antes de 1977", (None, 1977)),
        ("es", "hasta 1977", (None, 1978)),
        ("es", "1977 o antes", (None, 1978)),
        ("es", "después de la batalla en 1977", (1977, None)),
        ("ru", "25 мая 1977", DAY),
        ("ru", "май 1977", MONTH),
        ("ru", "44 год до н. э.", (-43, -42)),
        ("ru", "10 000 до н. э.", (-9999, -9998)),
        ("ru", "14 н. э.", (14, 15)),
        ("ru", "после 1977", (1978, None)),
        ("ru", "не ранее 1977", (1977, None)),
        ("ru", "до битвы в 1977", (None, 1978)),
        ("ru", "1977\u20131983", (1977, 1984)),
        ("de", "1500\u20131200 v. Chr.", BEFORE_CHRIST),
        ("de", "1500 bis 1200 v. Chr.", BEFORE_CHRIST),
        ("fr", "de 1500 à 1200 av. J.-C.", BEFORE_CHRIST),
        ("es", "entre 1500 y 1200 a. C.", BEFORE_CHRIST),
        ("ru", "1500\u20141200 гг. до н. э.", BEFORE_CHRIST),
        ("de", "1.\u20133. Juli 1863", DAYS),
        ("de", "vom 1. bis 3. Juli 1863", DAYS),
        ("de", "01.\u201303.07.1863", DAYS),
        ("fr", "du 1er au 3 juillet 1863", DAYS),
        ("es", "1-3 de julio de 1863", DAYS),
        ("ru", "с 1 по 3 июля 1863", DAYS),
        ("de", "Mai\u2013Juni 1977", MONTHS),
        ("fr", "de mai à juin 1977", MONTHS),
        ("es", "mayo a junio de 1977", MONTHS),
        ("ru", "май \u2014 июнь 1977", MONTHS),
        ("ru", "1939\u201445", (1939, 1946)),
        ("de", "um 1500 \u2013 um 1600", (1500, 1601)),
        ("de", "vom 25. Mai 1977", DAY),
        ("de", "von 1977", (1977, 1978)),
        ("fr", "du 25 mai 1977", DAY),
        ("fr", "de mai 1977", MONTH),
        ("fr", "avant la bataille du 25 mai 1977", (None, DAY[1])),
        ("es", "de mayo de 1977", MONTH),
        ("ru", "от 25 мая 1977", DAY),
        ("de", "1977 bis heute", (1977, None)),
        ("de", "1977–heute", (1977, None)),
        ("en", "1977–present", (1977, None)),
        ("en", "1977 - Ongoing", (1977, None)),
        ("en", "1977 to the present", (1977, None)),
        ("en", "from 1977 until today", (1977, None)),
        ("fr", "1977 – présent", (1977, None)),
        ("es", "1977-actualidad", (1977, None)),
        ("ru", "1977 — настоящее время", (1977, None)),
        ("de", "von 1977 bis heute", (1977, None)),
        ("de", "von ca. 1977 bis zur Gegenwart", (1977, None)),
        ("de", "von 1977 an", (1977, None)),
        ("de", "vom 25. Mai 1977 an", (DAY[0], None)),
        ("de", "vom 1. Juli 1863 bis zum 3. Juli 1863", DAYS),
        ("fr", "de 1977 à aujourd\u2019hui", (1977, None)),
        ("fr", "du 25 mai 1977 jusqu'à nos jours", (DAY[0], None)),
        ("fr", "du 1er juillet 1863 jusqu'au 3 juillet 1863", DAYS),
        ("es", "de 1977 a la actualidad", (1977, None)),
        ("es", "de 1977 en adelante", (1977, None)),
        ("es", "de 1977 al presente", (1977, None)),
        ("es", "de 1977 hasta hoy", (1977, None)),
        ("es", "1 de julio de 1863 hasta el 3 de julio de 1863", DAYS),
        ("ru", "с 1977 по настоящее время", (1977, None)),
        ("ru", "1977 по сей день", (1977, None)),
        ("pl", "25.05.1977", DAY),
        ("en", "25/05/1977", DAY),
        ("en", "25/05/1977 - 26/05/1977", (DAY[0], DAY[1] + 1 / 372)),
    ],
)
def test_a_date_is_read_as_its_language_writes_it(
    code: str, text: str, span: tuple[float | None, float | None]
) -> None:
    [found] = find_dates(text, code)
    assert found.calendar == "gregorian"
    for read, wanted in zip((found.since, found.until), span, strict=True):
        assert read == (None if wanted is None else pytest.approx(wanted, abs=1e-9))
    assert is_date(text, code)


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("von 1977 bis heute in Bern", None),
        ("von 1977 an war er Pilot", None),
        ("kam 1977 an", 1978),
        ("gebaut 1977 - heute eine Ruine", 1978),
        ("Anfang 1977 an der Schule", 1978),
    ],
)
def test_only_words_that_say_so_leave_a_date_in_a_sentence_open(text: str, until: float | None) -> None:
    assert [(one.since, one.until) for one in find_dates(text, "de")] == [(1977, until)]


@pytest.mark.parametrize(
    ("code", "text", "span"),
    [
        ("de", "19 VSY", (-20, -19)),
        ("de", "4 NSY", (4, 5)),
        ("fr", "19 av.BY", (-20, -19)),
        ("es", "19 ABY", (-20, -19)),
        ("es", "4 DBY", (4, 5)),
        ("ru", "19 ДБЯ", (-20, -19)),
        ("ru", "20 000 ДБЯ", (-20_001, -20_000)),
        ("en", "4 ABY", (4, 5)),
        ("ja", "4 ABY", (4, 5)),
    ],
)
def test_an_era_means_what_its_letters_stand_for_in_the_language(
    code: str, text: str, span: tuple[float, float]
) -> None:
    [found] = find_dates(text, code)
    assert (found.calendar, found.since, found.until) == ("galactic", *span)


def test_words_of_one_date_say_nothing_of_the_next() -> None:
    found = find_dates("44 год до нашей эры и в 1977", "ru")
    assert [(one.written, one.since, one.until) for one in found] == [
        ("44 год до нашей эры", -43, -42),
        ("1977", 1977, 1978),
    ]


@pytest.mark.parametrize("text", ["May 25, 1977", "25 May 1977"])
def test_a_language_without_a_file_reads_no_english_month(text: str) -> None:
    assert [found.written for found in find_dates(text, "ja")] == ["1977"]


@pytest.mark.parametrize("text", ["05.06.1977", "05/25/1977", "32.05.1977"])
def test_a_number_that_may_be_a_month_or_is_no_day_begins_no_date(text: str) -> None:
    assert find_dates(text, "pl") == []


@pytest.mark.parametrize(
    "text", ["Version 13.5.2000", "v. 13.5.2000", "v13.5.2000", "25.05.1977 \u2013 03.06.1977"]
)
def test_a_version_and_half_of_a_span_are_no_date(text: str) -> None:
    assert find_dates(text, "en") == []


@pytest.mark.parametrize(
    ("code", "text", "number", "unit"),
    [
        ("en", "1,234.5 m", 1234.5, "m"),
        ("de", "1.234,5 m", 1234.5, "m"),
        ("de", "1,75 Meter", 1.75, "Meter"),
        ("de", "1.75 m", 1.75, "m"),
        ("de", "0.125 m", 0.125, "m"),
        ("de", "1.250 m", 1250, "m"),
        ("de", "etwa 2 Millionen Tonnen", 2e6, "Tonnen"),
        ("fr", "environ 12 500 m", 12_500, "m"),
        ("es", "3 millones", 3e6, None),
        ("ru", "около 1,5 км", 1.5, "км"),
        ("ru", "от 2 до 3", None, None),
        ("de", "2 bis 3", None, None),
        ("de", "3,5 Mio.", 3.5e6, None),
        ("es", "3 mil millones", 3e9, None),
        ("ru", "12 тыс.", 12_000, None),
        ("ru", "5 млн чел.", 5e6, "чел."),
        ("fr", "30 000 à 40 000 km", None, None),
        ("en", "5'11\"", None, None),
        ("en", "2 × 10^6 kg", None, None),
        ("en", "2 204 sublight ion engines", 2, None),
        ("en", "85 kilograms, 187 pounds", 85, "kilograms"),
        ("en", "6 ft 2 in", None, None),
        ("en", "6 feet, 2 inches", None, None),
        ("en", "2 hours and 30 minutes", None, None),
        ("en", "1.8 m, 180 cm", 1.8, "m"),
        ("en", "2 crew 4 passengers", 2, "crew"),
        ("de", "6 Fuß 2 Zoll", None, None),
        ("fr", "1 m 80", None, None),
        ("es", "2 años y 3 meses", None, None),
        ("ru", "1 м 80 см", None, None),
        ("en", "5 000 km", 5_000, "km"),
        ("en", "about 5\u2009000 km", 5_000, "km"),
        ("en", "12\u00a0500", 12_500, None),
        ("en", "1 234 567.5 tons of it", 1_234_567.5, "tons of it"),
        ("en", "5 000 light years", 5_000, "light years"),
        ("en", "2 74-Z speeder bikes", 2, None),
        ("en", "1 125-Z speeder bike", 1, None),
        ("en", "2 501st troopers", 2, None),
        ("en", "2 204 sub-light engines", 2, None),
        ("en", "12 500 to 13 000 km", None, None),
        ("en", "5 000-6 000 km", None, None),
        ("en", "1.8 meters to 2 meters", None, None),
        ("en", "1.8 meters to about 2 meters", None, None),
        ("en", "10 million to 100 million", None, None),
        ("en", "1.8\u20142 m", None, None),
        ("en", "3 tons to the gallon", 3, "tons to the gallon"),
        ("en", "20 years prior to 19 BBY", 20, "years prior to"),
        ("de", "1,8 Meter bis 2 Meter", None, None),
        ("fr", "3 mètres à 5 mètres", None, None),
        ("fr", "1 ou 2", None, None),
        ("es", "2 y 3", None, None),
        ("de", "10 x 20 m", None, None),
        ("ru", "10 х 20 м", None, None),
        ("es", "3 metros a 5 metros", None, None),
        ("ru", "10 000/20 000", None, None),
        ("ru", "10 000\u201420 000", None, None),
        ("en", '5 "Banshee" bombers', 5, None),
        ("en", "4 'Ion' cannons", 4, None),
        ("en", "6 \u00d7 turbolasers", 6, None),
        ("fr", "4 \u2019Ion\u2019", 4, None),
        ("de", "2 8-cm-Kanonen", 2, None),
        ("ru", "4 37 мм орудия", 4, None),
        ("en", "6'", None, None),
        ("en", '11" tall', None, None),
        ("en", "5' 11\"", None, None),
        ("en", "1 920 \u00d7 1 080", None, None),
        ("de", "1 920 \u00d7 1 080", None, None),
        ("de", "1920 \u00d7 1080", None, None),
        ("de", "1 1/2 Meter", None, None),
        ("fr", "1234 567 km", None, None),
    ],
)
def test_a_number_is_read_as_its_language_writes_it(
    code: str, text: str, number: float | None, unit: str | None
) -> None:
    page = dict.fromkeys(("source", "batch", "title", "title_key", "revision_id"), "x")
    value = InfoboxValue("length", text, text, None, (), None, 0, len(text))
    [row] = page_fact_rows(page, "Infobox", [value], RuleBook([("own", NUMBERS)], code))
    assert (row.get("number"), row.get("unit")) == (number, unit)
