import { mount } from 'svelte';

import { browser } from './platform/browser';
import { App } from './state/app.svelte';
import Page from './view/Page.svelte';

// What a window is made of is loaded in a window only.
const platform = '__TAURI_INTERNALS__' in window ? (await import('./platform/desktop')).desktop() : browser();
const app = new App(platform);
const target = document.getElementById('app')!;
target.replaceChildren();
mount(Page, { target, props: { app } });
app.start();
