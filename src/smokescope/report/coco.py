"""Regions of many pictures as one file in COCO's layout, which labelling tools read."""

from collections.abc import Sequence
from pathlib import Path

from smokescope import __version__
from smokescope.data.json_files import encode_json
from smokescope.report.results import Result

CATEGORIES = {"smoke": 1, "unsure": 2}


def encode_coco(results: Sequence[Result], out: Path) -> bytes:
    """The file's bytes: an image a picture, an annotation a region; `score` is the region's peak.

    Args:
        results: Results of pictures and videos.
        out: Their folder. The image of a video is the frame in it that the regions are of.

    Raises:
        SmokescopeError: A result's JSON is not as it was written.
    """
    images: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    for number, (file, record) in enumerate(results, 1):
        size = {side: record.take(side).read(int) for side in ("width", "height")}
        picture = file.result(out, ".frame.jpg") if "video" in record.parts() else file.path
        images.append({"id": number, "file_name": str(picture), **size})
        for region in record.take("regions").items():
            x0, y0, x1, y1 = (side.read(int) for side in region.take("box").items())
            points = [point.items() for point in region.take("polygon").items()]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": CATEGORIES[region.take("verdict").read(str)],
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "area": region.take("area").read(int),
                    "segmentation": [[value.read(int) for point in points for value in point]],
                    "iscrowd": 0,
                    "score": region.take("peak").read(float),
                }
            )
    document = {
        "info": {"description": f"regions found by smokescope {__version__}"},
        "images": images,
        "annotations": annotations,
        "categories": [{"id": number, "name": name} for name, number in CATEGORIES.items()],
    }
    return encode_json(document)
