"""A small HTTP server: the order page, and POST /order."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from . import orders, palette

WEB = Path(__file__).parent.parent / "web"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self):
        page = WEB / (self.path.strip("/") or "index.html")
        if page.parent != WEB or not page.is_file():
            return self.send_error(404)
        return self.answer(page.read_bytes(), TYPES.get(page.suffix, "text/plain"))

    def do_POST(self):
        config = palette.load()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            order = orders.parse(json.loads(body), config)
        except (KeyError, ValueError) as error:
            return self.send_error(400, explain=str(error))
        reply = {"price": order.price(config), "colour": order.colour}
        return self.answer(json.dumps(reply).encode(), "application/json")

    def answer(self, body, content_type):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", palette.load()["port"]), Handler).serve_forever()
