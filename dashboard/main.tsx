import { render } from 'preact';

import { App } from './view/app.js';

render(<App />, document.getElementById('app')!);
