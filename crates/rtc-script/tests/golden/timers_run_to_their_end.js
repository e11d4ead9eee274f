setTimeout(() => console.log("afterwards"), 3);
"first"
