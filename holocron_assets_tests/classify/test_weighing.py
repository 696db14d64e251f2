import pytest

from holocron_assets.classify.evidence import Evidence
from holocron_assets.classify.rules import load_rules
from holocron_assets.classify.weighing import Verdict, weigh

PLACE, PERSON, CRAFT = "LocationPlace", "PersonCharacter", "VehicleCraft"


def piece(stage: str, type_name: str, confidence: float) -> Evidence:
    return Evidence(f"{stage}.{type_name}", stage, type_name, confidence, "because", "this", None)


def weighed(*evidence: Evidence) -> Verdict:
    return weigh(evidence, load_rules().weighing, {"ObjectArtifact": "ObjectItem"})


def test_no_evidence_is_unknown_with_no_confidence() -> None:
    assert weighed() == Verdict("Unknown", 0.0, [], 0.0, needs_review=True)


def test_evidence_below_what_counts_as_known_is_unknown_but_is_not_lost() -> None:
    verdict = weighed(piece("lead", PLACE, 0.3))
    assert (verdict.type, verdict.confidence, verdict.weights) == ("Unknown", 0.0, [(PLACE, 0.3)])


def test_one_rule_alone_keeps_its_confidence_up_to_certainty() -> None:
    assert weighed(piece("title", "TechnicalSitePage", 1.0)).confidence == 1.0
    assert weighed(piece("infobox", PLACE, 0.95)).confidence == 0.95


@pytest.mark.parametrize("second", ["infobox", "category", "lead"])
def test_a_later_stage_that_agrees_makes_surer_but_never_certain(second: str) -> None:
    alone = weighed(piece("title", PLACE, 0.7)).confidence
    agreed = weighed(piece("title", PLACE, 0.7), piece(second, PLACE, 0.7))
    assert alone < agreed.confidence <= 0.99
    assert not agreed.needs_review
    assert weighed(*[piece(stage, PLACE, 0.95) for stage in ("title", "infobox", "lead")]).confidence == 0.99


def test_a_conflict_lowers_confidence_and_asks_for_review() -> None:
    verdict = weighed(piece("infobox", PLACE, 0.95), piece("lead", PERSON, 0.9))
    assert verdict.type == PLACE
    assert verdict.confidence < 0.8
    assert verdict.needs_review


def test_a_settled_answer_with_a_strong_contradiction_is_reviewed_and_with_a_weak_one_is_not() -> None:
    strong = weighed(piece("infobox", PLACE, 0.95), piece("category", PERSON, 0.65))
    assert (strong.confidence >= 0.8, strong.needs_review) == (True, True)
    weak = weighed(piece("infobox", PLACE, 0.95), piece("category", PERSON, 0.4))
    assert (weak.confidence >= 0.8, weak.needs_review) == (True, False)
    assert weak.confidence < 0.95


def test_a_later_stage_overrules_an_earlier_one_only_when_clearly_surer() -> None:
    assert weighed(piece("title", PERSON, 0.6), piece("infobox", PLACE, 0.95)).type == PLACE
    assert weighed(piece("infobox", PERSON, 0.9), piece("lead", PLACE, 0.92)).type == PERSON
    assert weighed(piece("infobox", PERSON, 0.75), piece("lead", PLACE, 0.92)).type == PLACE


def test_categories_and_lead_speak_together() -> None:
    verdict = weighed(
        piece("infobox", PERSON, 0.78), piece("lead", PLACE, 0.7), piece("category", PLACE, 0.7)
    )
    assert verdict.type == PLACE


def test_more_than_three_pieces_of_one_stage_say_the_same_again() -> None:
    three = weighed(*[piece("category", PLACE, 0.5)] * 3)
    assert weighed(*[piece("category", PLACE, 0.5)] * 9) == three


def test_what_speaks_for_a_thing_speaks_for_the_relic_that_it_is() -> None:
    verdict = weighed(piece("infobox", "ObjectArtifact", 0.95), piece("lead", "ObjectItem", 0.9))
    assert (verdict.type, verdict.confidence, verdict.conflict) == ("ObjectArtifact", 0.99, 0.0)
    guessed = weighed(piece("title", "ObjectArtifact", 0.4), piece("lead", "ObjectItem", 0.9))
    assert guessed.type == "ObjectItem"


def test_weights_name_every_type_heaviest_first_and_the_answer_leads() -> None:
    verdict = weighed(
        piece("infobox", PLACE, 0.75), piece("lead", PERSON, 0.9), piece("category", CRAFT, 0.5)
    )
    names, weights = zip(*verdict.weights, strict=True)
    assert set(names) == {PLACE, PERSON, CRAFT}
    assert names[0] == verdict.type
    assert list(weights) == sorted(weights, reverse=True)
    assert all(0 <= weight <= 1 for weight in weights)
