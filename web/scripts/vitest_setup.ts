/** In CI, property tests try the same cases each time; on a developer's machine, new ones. As hypothesis does in `tests/`. */

import fc from "fast-check";

if (process.env.CI) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 1 });
