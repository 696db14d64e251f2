"""What a share that was counted among a few says of the share among all."""

from math import sqrt

_STANDARD_ERRORS = 1.96  # 19 of 20 true shares are inside the interval


def wilson_interval(count: int, whole: int) -> tuple[float, float]:
    """The 95% interval of a share, by E. B. Wilson's formula (1927). With little to count, it is wide.

    Args:
        count: how many of those that were looked at are of the kind.
        whole: how many were looked at.
    """
    if not whole:
        return 0.0, 1.0
    share, unsure = count / whole, _STANDARD_ERRORS**2 / whole
    middle, half = share + unsure / 2, sqrt(share * (1 - share) * unsure + unsure**2 / 4)
    return (middle - half) / (1 + unsure), (middle + half) / (1 + unsure)
