await import("node:fs");
