console.log("before");
throw null;
