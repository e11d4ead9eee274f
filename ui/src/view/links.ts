const OUTSIDE = /^(?:https?|mailto):$/;

/** Gives a click on a link that leads out of the page to who opens it, instead of letting the page go there. */
export function followLink(event: MouseEvent, open: (url: string) => unknown): void {
  // The middle button opens a link as well; the right one has a menu.
  if (event.defaultPrevented || event.button > 1 || !(event.target instanceof Element)) {
    return;
  }
  const link = event.target.closest<HTMLAnchorElement>('a[href]');
  if (link && OUTSIDE.test(link.protocol) && (link.target === '_blank' || link.origin !== location.origin)) {
    event.preventDefault();
    open(link.href);
  }
}
