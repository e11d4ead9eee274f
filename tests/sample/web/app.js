// The order page. This file has Windows line ends.
const names = ["sky", "moss", "brick", "chalk"];
const form = document.getElementById("order");
const answer = document.getElementById("answer");

for (const name of names) {
  form.elements.colour.add(new Option(name));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const order = Object.fromEntries(new FormData(form));
  const response = await fetch("/order", { method: "POST", body: JSON.stringify(order) });
  if (!response.ok) {
    answer.textContent = "The shop cannot mix this colour.";
    return;
  }
  const { price, colour } = await response.json();
  answer.textContent = `${order.litres} l of ${colour}: € ${price.toFixed(2)}`;
});
