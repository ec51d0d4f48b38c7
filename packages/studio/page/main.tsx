import { render } from 'preact';
import './style/base.css';
import './style/views.css';
import './style/tokens.css';
import './style/servers.css';
import 'uplot/dist/uPlot.min.css';
import { App } from './app.js';
import { startKeyboard } from './parts/keyboard.js';
import { openSource } from './state/source.js';
import { openAt, source, startRouting } from './state/store.js';
import { startTheme } from './state/theme.js';

// The token of the first visit is in a cookie now, and need not stay in the address.
if (location.search !== '' && location.protocol !== 'file:')
  history.replaceState(null, '', `${location.pathname}${location.hash}`);

startTheme();
startKeyboard();
source.current = await openSource();
openAt(source.current.start);
startRouting();
const place = document.getElementById('app');
if (place !== null) render(<App />, place);
