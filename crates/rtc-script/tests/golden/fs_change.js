const { fs } = rtcAgent;
await fs.read("/README.md");
await fs.edit("/README.md", "TODO", "DONE");
await fs.write("/out/report.txt", "one\n");
await fs.write("/out/report.txt", "two\n", { mode: "append" });
await fs.mkdir("/out/empty");
await fs.move("/out/report.txt", "/out/final.txt");
await fs.remove("/src", { recursive: true });
return { report: await fs.read("/out/final.txt"), readme: await fs.read("/README.md"), left: await fs.find("**") };
