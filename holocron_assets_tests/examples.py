"""How many examples a property test tries: few, always the same, in the quick tier; many in the full one."""

from hypothesis import settings

QUICK, THOROUGH = 100, 1_000


def load_profiles() -> None:
    """Declare both profiles; `--hypothesis-profile=thorough` chooses the other one.

    The quick one tries the same examples each time, so that it cannot fail for what nobody changed. The
    thorough one draws others each time, and prints what repeats a failure.
    """
    settings.register_profile("quick", max_examples=QUICK, derandomize=True, deadline=None)
    settings.register_profile(
        "thorough", max_examples=THOROUGH, derandomize=False, deadline=None, print_blob=True
    )
    settings.load_profile("quick")


def examples(quick: int) -> int:
    """So many examples in the quick tier, and as many times more as the profile in force asks for."""
    return quick * settings().max_examples // QUICK
