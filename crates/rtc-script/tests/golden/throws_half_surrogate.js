await rtcAgent.fs.write("/made.txt", "x");
throw new Error("half \ud83d");
