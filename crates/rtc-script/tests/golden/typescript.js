interface Point {
  x: number;
}
const p: Point = { x: 1 };
