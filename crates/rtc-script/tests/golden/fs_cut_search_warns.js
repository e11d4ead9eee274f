return rtcAgent.fs.find("*", { head_limit: 2 });
