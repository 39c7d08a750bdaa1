"""Pen strokes inside a region, as a hand in a hurry draws them: along the middle, a little wavy.

A stroke is the cheapest path between two points of the region. Ground near the region's edge is dear, so the
path keeps to the middle and round corners; smooth random hills on top of that bend it as a hand would. It is
found on a coarse grid, smoothed, and drawn with a round pen; what would leave the region is cut off.
"""

import heapq
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

COARSE = 64  # cells along the longer side of the grid that paths are searched on
HILLS = 1.0  # standard deviation of the logarithm of the random cost
SMOOTH = 3.0  # cells; how wide its hills are

Region = NDArray[np.bool_]


class Ends(NamedTuple):
    """Two points (x, y) of a region."""

    start: tuple[int, int]
    end: tuple[int, int]


def draw_stroke(region: Region, ends: Ends, pen: int, wave: float, rng: np.random.Generator) -> Region:
    """Draw a stroke between two points.

    Args:
        region: H x W, where the stroke may go; both ends lie in it, and a path joins them.
        ends: Where it begins and ends.
        pen: Its width in pixels.
        wave: How far the hand swings to either side, in pixels.
        rng: Where chance comes from.

    Returns:
        The stroke, H x W, inside the region; it has at least the pixel at its start.
    """
    factor = max(1, -(-max(region.shape) // COARSE))
    path = _cheapest_path(_ground(region, factor, rng), *(_cell(point, factor) for point in ends))
    points = _by_hand((path + 0.5) * factor - 0.5, ends, wave, rng)
    canvas = np.zeros(region.shape, np.uint8)
    cv2.polylines(canvas, [np.rint(points * 16).astype(np.int32)], False, 1, pen, cv2.LINE_8, shift=4)
    stroke: Region = (canvas > 0) & region
    stroke[ends.start[1], ends.start[0]] = True
    return stroke


def _cell(point: tuple[int, int], factor: int) -> tuple[int, int]:
    return point[1] // factor, point[0] // factor


def _ground(region: Region, factor: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """What a step into each cell costs; infinite where no pixel of the cell is in the region."""
    height, width = region.shape
    padded = np.pad(region, ((0, -height % factor), (0, -width % factor)))
    cells = padded.reshape(padded.shape[0] // factor, factor, -1, factor).any((1, 3))
    # A border of nothing, so that the picture's edge keeps the hand away as any other does.
    depth = np.asarray(cv2.distanceTransform(np.pad(cells, 1).astype(np.uint8), cv2.DIST_L2, 3))[1:-1, 1:-1]
    noise = cv2.GaussianBlur(rng.standard_normal(cells.shape), (0, 0), SMOOTH)
    # white noise, blurred, has 1 / (2 sqrt(pi) SMOOTH) of its deviation left
    hills = np.exp(HILLS * 2 * np.sqrt(np.pi) * SMOOTH * np.asarray(noise))
    # six cells from any edge is middle enough
    middle = np.minimum(depth, 6.0) / min(6.0, max(float(depth.max()), 1.0))
    return np.where(cells, hills / np.maximum(middle, 0.05) ** 2, np.inf)


def _cheapest_path(
    cost: NDArray[np.float64], start: tuple[int, int], end: tuple[int, int]
) -> NDArray[np.float64]:
    """Dijkstra's search over the eight neighbours; count x 2 points (x, y), or the start alone if cut off."""
    height, width = cost.shape
    best, came = {start: 0.0}, dict[tuple[int, int], tuple[int, int]]()
    queue = [(0.0, start)]
    while queue:
        paid, here = heapq.heappop(queue)
        if here == end:
            break
        if paid > best[here]:
            continue
        for dy, dx in ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)):
            there = (here[0] + dy, here[1] + dx)
            if not (0 <= there[0] < height and 0 <= there[1] < width):
                continue
            total = paid + float(cost[there]) * (1.4142 if dy and dx else 1.0)
            if total < best.get(there, np.inf):
                best[there], came[there] = total, here
                heapq.heappush(queue, (total, there))
    path = [end if end in came else start]
    while path[-1] in came:
        path.append(came[path[-1]])
    return np.array(path[::-1], np.float64)[:, ::-1]


def _by_hand(
    path: NDArray[np.float64], ends: Ends, wave: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Smooth a path of cells into a curve from end to end, and let it swing to its sides."""
    path = np.concatenate([[ends.start], path[1:-1], [ends.end]]).astype(np.float64)
    count = 8 * len(path)
    dense = np.stack(
        [np.interp(np.linspace(0, len(path) - 1, count), np.arange(len(path)), c) for c in path.T]
    )
    reach = max(1, count // 12)
    bell = np.exp(-0.5 * (np.arange(-2 * reach, 2 * reach + 1) / reach) ** 2)
    curve = np.stack([_smooth(c, bell / bell.sum()) for c in dense])
    swing = _smooth(rng.standard_normal(count), bell / np.sqrt((bell**2).sum()))
    along = np.gradient(curve, axis=1)
    aside = np.stack([-along[1], along[0]]) / np.maximum(np.linalg.norm(along, axis=0), 1e-9)
    result: NDArray[np.float64] = (curve + wave * swing * aside).T
    return result


def _smooth(values: NDArray[np.float64], kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    reach = len(kernel) // 2
    return np.convolve(np.pad(values, reach, "edge"), kernel, "valid").astype(np.float64)
