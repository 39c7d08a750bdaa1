"""Pictures that are there twice: the same pixels, or one picture encoded, resized, trimmed or toned anew.

Frames of a fixed camera are alike in all but smoke and clouds, and are no duplicates. So a likeness of the
whole (a correlation) only proposes a pair; what decides is the place where two pictures differ most, once one
is laid over the other and its tones are matched. With masks at hand those must agree as well.
"""

import hashlib
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

SIDE = 128  # smoke of 0.3 % of a picture, common in wildfire frames, is still 7 x 7 here

# Measured on 300 pictures, re-saved (JPEG 40 to 95), resized (0.5 to 1.5), trimmed by up to 5 % a side and
# toned (gamma 0.8 to 1.25), against frames of fixed cameras a minute apart: see docs/data.md.
CORRELATION = 0.995
DIFFERENCE = 2.5  # grey levels
MASK_OVERLAP = 0.95  # saved anew: 0.97 and more; other frames of a fire: 0.86 (median), 0.957 (most)

_TRIM, _TURN, _TONE = 0.15, 0.05, 48.0  # how far the framing and the mean tone of a copy may be off
_FLAT = 4.0  # grey levels of standard deviation below which nothing is there to lay over
_EDGE = 10.0  # grey levels of local contrast that double the difference allowed
_STOP = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 40, 1e-4)


class Glance(NamedTuple):
    """What is remembered of a picture to compare it with others."""

    pixels: int
    digest: bytes
    """Digest of the decoded pixels: metadata and lossless formats make no difference."""
    aspect: float
    grey: NDArray[np.uint8]
    """SIDE x SIDE, whatever the picture's shape."""
    mask: NDArray[np.uint8] | None
    """SIDE x SIDE, 255 is smoke; None in a folder without masks."""


class Likeness(NamedTuple):
    """How much two pictures are alike."""

    picture: float
    """Correlation of grey values where they overlap."""
    mask: float | None
    """Intersection over union of the masks."""


def glance(picture: NDArray[np.uint8], mask: NDArray[np.float32] | None) -> Glance:
    """Take down what comparisons need.

    Args:
        picture: H x W x 3.
        mask: H x W in [0, 1], or None.
    """
    height, width = picture.shape[:2]
    digest = hashlib.sha256(f"{height} {width} ".encode() + picture.tobytes()).digest()
    # Blurred, so that laying over at fractions of a pixel changes nothing.
    grey = cv2.GaussianBlur(_shrink(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)), (0, 0), 1.0)
    shrunk = None if mask is None else _shrink(mask * np.float32(255))
    return Glance(height * width, digest, width / height, grey.astype(np.uint8), shrunk)


def signature(look: Glance) -> NDArray[np.float32]:
    """A short vector of length 1; its product with another's is the pictures' rough correlation."""
    rough = cv2.resize(look.grey, (16, 16), interpolation=cv2.INTER_AREA).astype(np.float32).ravel()
    rough -= rough.mean()
    return rough / max(float(np.linalg.norm(rough)), 1e-6)


def mask_overlap(one: Glance, other: Glance) -> float | None:
    """Intersection over union of two masks as they lie in their pictures; None without masks."""
    if one.mask is None or other.mask is None:
        return None
    return _overlap(one.mask.astype(np.float32), other.mask.astype(np.float32))


def near_duplicate(one: Glance, other: Glance) -> Likeness | None:
    """Lay one picture over the other and look where they differ most.

    Returns:
        How much they are alike, or None if they are not the same picture.
    """
    if not _masks_may_agree(one, other):
        return None
    likeness, difference = compare(one, other)
    same_mask = likeness.mask is None or likeness.mask >= MASK_OVERLAP
    same = likeness.picture >= CORRELATION and difference <= DIFFERENCE and same_mask
    return likeness if same else None


def compare(one: Glance, other: Glance) -> tuple[Likeness, float]:
    """The likeness of two pictures laid over each other, and the grey levels by which they differ at most."""
    unlike = Likeness(0.0, None if one.mask is None else 0.0), np.inf
    a, b = one.grey.astype(np.float32), other.grey.astype(np.float32)
    if min(a.std(), b.std()) < _FLAT or abs(float(a.mean() - b.mean())) > _TONE:
        return unlike
    if abs(np.log(one.aspect / other.aspect)) > _TRIM:
        return unlike
    warp = _lay_over(a, b)
    if warp is None:
        return unlike
    inside = cv2.erode(_warp(np.ones_like(b), warp), np.ones((5, 5))) > 0.999
    moved = _warp(b, warp)
    toned = _match_tones(moved, a, inside)
    correlation = float(np.corrcoef(toned[inside], a[inside])[0, 1])
    # Averaged over 5 x 5: grain and the ringing of JPEG go away, smoke that moved does not.
    # An edge may be off by a fraction of a pixel; smooth sky may not.
    gap = np.abs(cv2.blur(np.where(inside, toned - a, 0).astype(np.float32), (5, 5)))
    rough = np.sqrt(np.maximum(cv2.blur(a * a, (9, 9)) - cv2.blur(a, (9, 9)) ** 2, 0))
    difference = float((gap / (1 + rough / _EDGE)).max())
    if one.mask is None or other.mask is None:
        return Likeness(correlation, None), difference
    masks = one.mask.astype(np.float32), _warp(other.mask.astype(np.float32), warp)
    return Likeness(correlation, _overlap(masks[0] * inside, masks[1] * inside)), difference


def _masks_may_agree(one: Glance, other: Glance) -> bool:
    """Whether area and centroid allow it: in a fixed camera's frames this settles most pairs at once."""
    if one.mask is None or other.mask is None or not (one.mask.any() and other.mask.any()):
        return True
    (a, *first), (b, *second) = (
        _area_and_centroid(look.mask) for look in (one, other) if look.mask is not None
    )
    apart = max(abs(p - q) for p, q in zip(first, second, strict=True))
    return min(a, b) >= 0.6 * max(a, b) and apart <= _TRIM * SIDE


def _area_and_centroid(mask: NDArray[np.uint8]) -> tuple[float, float, float]:
    moments = cv2.moments(mask)
    return moments["m00"], moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]


def _lay_over(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """The affine map from a's pixels to b's by enhanced correlation, found at half the resolution.

    Where nothing sensible is found, as with a picture of sky alone, they are compared as they lie. None if
    they do not fit at all.
    """
    as_they_lie = np.eye(2, 3, dtype=np.float32)
    half = (SIDE // 2, SIDE // 2)
    small = [cv2.resize(x, half, interpolation=cv2.INTER_AREA) for x in (a, b)]
    try:
        fit, found = cv2.findTransformECC(
            small[0], small[1], as_they_lie.copy(), cv2.MOTION_AFFINE, _STOP, np.ones(half, np.uint8), 3
        )
    except cv2.error:
        return as_they_lie
    if fit < CORRELATION - 0.03:
        return None
    warp = found.astype(np.float32)
    warp[:, 2] = 2 * warp[:, 2] + 0.5 - 0.5 * warp[:, :2].sum(1)  # at twice the side, x is 2 x + 1/2
    corners = np.array([[x, y, 1] for x in (0, SIDE - 1) for y in (0, SIDE - 1)], np.float32)
    off = np.abs(corners @ warp.T - corners[:, :2]).max()
    turn = max(abs(float(warp[0, 1])), abs(float(warp[1, 0])))
    return warp if off <= _TRIM * SIDE and turn <= _TURN else as_they_lie


def _match_tones(
    values: NDArray[np.float32], like: NDArray[np.float32], inside: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Fit a cubic from one picture's tones to another's: brightness, contrast and, nearly, gamma."""
    x, y = values / 255, like[inside]
    powers = np.stack([np.ones_like(x), x, x**2, x**3])
    used = powers[:, inside]
    # The ridge keeps a picture of few tones solvable.
    weights = np.linalg.solve(used @ used.T + 1e-3 * np.eye(4, dtype=np.float32), used @ y)
    return np.asarray(np.tensordot(weights, powers, 1), np.float32)


def _warp(values: NDArray[np.float32], warp: NDArray[np.float32]) -> NDArray[np.float32]:
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    return np.asarray(cv2.warpAffine(values, warp, (SIDE, SIDE), flags=flags), np.float32)


def _overlap(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    union = float(np.maximum(a, b).sum())
    return float(np.minimum(a, b).sum()) / union if union else 1.0


def _shrink(values: NDArray[np.integer | np.floating]) -> NDArray[np.uint8]:
    small = cv2.resize(values.astype(np.float32), (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return np.rint(small).clip(0, 255).astype(np.uint8)
