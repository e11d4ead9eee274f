const later = (value) => new Promise((done) => setTimeout(done, 1, value));
const [one, two] = await Promise.all([later(1), later(2)]);
one + two
