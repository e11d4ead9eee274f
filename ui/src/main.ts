import { mount } from 'svelte';

import './style.css';
import { App } from './state/app.svelte';
import Page from './view/Page.svelte';
import { endpointOf, fetchToken } from './wire/client';

const app = new App({ endpoint: endpointOf(location.href), fetchToken });
mount(Page, { target: document.getElementById('app')!, props: { app } });
app.start();
