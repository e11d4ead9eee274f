const told = [];
const attempt = async (work) => {
  try {
    told.push(await work());
  } catch (error) {
    told.push(`${error.name} ${error.code}: ${error.message}`);
  }
};
const { fs } = rtcAgent;
await attempt(() => fs.read("/no/such"));
await attempt(() => fs.read("/../etc/passwd"));
await attempt(() => fs.write("/README.md", "over"));
await attempt(() => fs.edit("/src/lib.rs", "two", "three"));
await attempt(() => fs.write("/new.txt"));
await attempt(() => fs.write("/README.md", "x", { mode: "create-new" }));
await attempt(() => fs.read(5));
await attempt(() => fs.grep("("));
await attempt(() => fs.grep("a", { nonsense: 1 }));
await attempt(() => fs.remove("/src"));
await attempt(() => fs.remove("/"));
await attempt(() => fs.move("/src", "/data"));
return told.join("\n");
