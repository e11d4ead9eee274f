setTimeout(() => {
  throw new Error("late");
}, 1);
"first"
