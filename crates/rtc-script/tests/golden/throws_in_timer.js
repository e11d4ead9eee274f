setTimeout(() => {
  throw { a: 1 };
}, 0);
"first"
