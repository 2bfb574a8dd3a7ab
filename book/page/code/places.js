// What host.js puts into the places of a page: one module, made by book/page/bundle.py, so that a page asks for one file
// and all that runs on it has one engine.

import { mount as answer } from "./answer.js";
import { mount as cell } from "./editor.js";
import { mount as bench } from "./workbench.js";

export const mounts = { answer, bench, cell };
