for (const number of [1, 2, 3]) {
  if (number > 1) return { number };
}
"not reached";
