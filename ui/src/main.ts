import './style.css';

/** A window that paints nothing, behind others or put away, does not keep the page from starting. */
const LONGEST_PAINT_MS = 100;

// What is there without a script is painted first, and not only with what the script makes of it.
await new Promise<void>((go) => {
  requestAnimationFrame(() => setTimeout(go));
  setTimeout(go, LONGEST_PAINT_MS);
});
try {
  await import('./start');
} catch (error) {
  console.error(error);
  const told = document.querySelector('.frame p');
  if (told) {
    told.textContent = 'RTC Desktop cannot be shown: a part of its page was not loaded. Load the page again.';
  }
}
