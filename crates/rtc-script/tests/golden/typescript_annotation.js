const list = [1];
const total = (numbers: number[]) => numbers.length;
total(list);
