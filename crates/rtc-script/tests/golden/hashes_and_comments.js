// Only a comment at the end; it is not code
const url = "https://example.org"; // here; too
url /* ; */
// 1 + 1;
