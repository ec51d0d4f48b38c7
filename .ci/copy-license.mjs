// Copies LICENSE into a package before `npm pack` or `npm publish` packs it (the package's "prepack"). npm takes a
// LICENSE only from the package's own folder.
import { copyFileSync } from 'node:fs';
import path from 'node:path';

copyFileSync(path.join(import.meta.dirname, '../LICENSE'), path.resolve('LICENSE'));
