"""Takes the pictures of the page and the map from the real thing: `COOCCUR_DATA=FOLDER python docs/pictures.py`.

A DEM with its default settings learns MovieLens 1M (about four minutes on one thread; `--model FILE` takes one that is
there), the service serves it, and Chromium shows it. Into docs/: page.png, page-dark.png, phone.png, map.png.
"""

import argparse
import io
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from cooccur.datasets import load, titles
from cooccur.maps import make_map
from cooccur.models import make_model
from cooccur.serve.app import create_app

DOCS = Path(__file__).parent
BASKET = "/#i=1&i=260"  # Toy Story, Star Wars
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def keep(png: bytes, name: str, width: int | None = None) -> None:
    """Small enough to load at once: a palette that keeps rare colours (the groups'), which a median cut would merge."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if width:
        picture = picture.resize((width, width * picture.height // picture.width), Image.Resampling.LANCZOS)
    picture.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)
    print(name, f"{(DOCS / name).stat().st_size / 1000:.0f} kB")


def show(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("#map[data-state=shown]", state="attached", timeout=300_000)
    page.wait_for_selector("#list[aria-busy=false]")


def take(address: str) -> None:
    wide = {"viewport": {"width": 1360, "height": 860}}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme, name in (("light", "page.png"), ("dark", "page-dark.png")):
            page = browser.new_page(**wide, color_scheme=scheme)
            show(page, address + BASKET)
            page.locator("#list .main-row").nth(1).click()
            page.wait_for_selector(".why:visible")
            page.mouse.move(0, 0)
            page.wait_for_timeout(1000)
            keep(page.screenshot(), name)
        page = browser.new_page(viewport={"width": 390, "height": 760}, device_scale_factor=2, has_touch=True)
        show(page, address + BASKET)
        page.wait_for_timeout(1000)
        keep(page.screenshot(), "phone.png")
        browser.close()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--model", type=Path, help="a model of ml-1m that was fitted before")
    given: Path | None = options.parse_args().model
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        path = given or Path(folder, "ml-1m.model")
        if given is None:
            make_model("dem").fit(load("ml-1m")).save(path)
        named = {item: (one.title, one.group.split("|")[0]) for item, one in titles("ml-1m").items()}
        free.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(path, titles=named), log_level="warning"))
        threading.Thread(target=server.run, kwargs={"sockets": [free]}, daemon=True).start()
        take(f"http://127.0.0.1:{free.getsockname()[1]}")
        server.should_exit = True
        from cooccur.storage import load as load_model

        print_map = Path(folder, "map.png")
        make_map(load_model(path)).write(print_map, named, labels=220, heading="MovieLens 1M, as a DEM sees it")
        keep(print_map.read_bytes(), "map.png", width=1400)


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    main()
