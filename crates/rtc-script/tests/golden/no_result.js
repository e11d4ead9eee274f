console.log("only this");
if (true) {
  const unused = 1;
}
