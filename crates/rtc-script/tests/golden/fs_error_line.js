const text = await rtcAgent.fs.read("/README.md");

await rtcAgent.fs.edit("/README.md", "absent", "present");
