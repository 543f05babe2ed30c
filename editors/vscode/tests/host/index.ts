// The extension in a real extension host, with the real program and a scripted model, in a window with one folder. The
// tests run in this order: what the first ones show, the later ones take for granted.

import './activation';
import './editing';
import './approval';
import './plans';
import './questions';
import './starting';
import './working';
import './after';
import './trouble';

export { runAll as run } from './harness';
