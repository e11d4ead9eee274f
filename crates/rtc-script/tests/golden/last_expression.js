// The value of the last expression is the result.
const numbers = [1, 2, 3];
const sum = numbers
  .map((number) => number * 2)
  .reduce((one, other) => one + other, 0);
sum;
