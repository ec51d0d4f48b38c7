// `npm pack` and `npm publish`, before they pack one of our packages (its "prepack"): npm takes a LICENSE only from the package's own folder.
import { copyFileSync } from 'node:fs';
import path from 'node:path';

copyFileSync(path.join(import.meta.dirname, '../LICENSE'), path.resolve('LICENSE'));
