import { flushSync, mount, unmount, type Component } from 'svelte';
import { afterEach } from 'vitest';

const mounted: object[] = [];

afterEach(async () => {
  for (const component of mounted.splice(0)) {
    await unmount(component);
  }
  document.body.replaceChildren();
});

/** Shows a component until the end of the test. */
export function show<Props extends Record<string, unknown>>(component: Component<Props>, props: Props): void {
  mounted.push(mount(component, { target: document.body, props }));
  flushSync();
}

/** The first element of a selector; it has to be there. */
export function find<E extends HTMLElement>(selector: string): E {
  const element = document.querySelector<E>(selector);
  if (!element) {
    throw new Error(`there is no ${selector} in ${document.body.innerHTML}`);
  }
  return element;
}

/** The first button with a text. */
export function button(name: string): HTMLButtonElement {
  return [...document.querySelectorAll('button')].find((button) => button.textContent?.includes(name))!;
}

/** Presses a key; whether somebody took it. */
export function press(element: Element, key: string, more: KeyboardEventInit = {}): boolean {
  const isLeft = element.dispatchEvent(
    new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more }),
  );
  flushSync();
  return !isLeft;
}

/** Types a text in place of the one that was there. */
export function type(element: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  element.value = text;
  element.dispatchEvent(new Event('input', { bubbles: true }));
  flushSync();
}
