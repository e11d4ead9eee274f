const { fs } = rtcAgent;
return {
  ls: await fs.ls("/"),
  below: await fs.ls("/src"),
  read: await fs.read("/README.md"),
  part: await fs.read("/src/main.rs", { offset: 2, limit: 1 }),
  bytes: [...(await fs.readBytes("/data/numbers.csv"))].slice(0, 4),
  grep: await fs.grep("TODO"),
  files: await fs.grep("TODO", { output_mode: "files_with_matches" }),
  count: await fs.grep("\\d", { output_mode: "count", path: "/data" }),
  find: await fs.find("*.rs"),
  kind: (await fs.stat("/src")).kind,
  size: (await fs.stat("/README.md")).size,
};
