let count = 0
for (const word of ["a", "b"])
  count += word.length
