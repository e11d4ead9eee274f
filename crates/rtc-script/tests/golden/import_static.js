import fs from "node:fs";
fs.readFileSync("/etc/passwd");
