await rtcAgent.writeFile("/a.txt", "text");
return [await rtcAgent.readFile("/a.txt"), await rtcAgent.listDir("/src")];
