// Copies LICENSE into a package before `npm pack` or `npm publish` packs it (the package's "prepack"). npm takes a
// LICENSE only from the package's own folder. With `--docs` it also copies the skills and the pages of docs/, so that an
// assistant reads those of the installed version.
import { copyFileSync, cpSync, rmSync } from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
copyFileSync(path.join(root, 'LICENSE'), path.resolve('LICENSE'));
if (process.argv.includes('--docs')) {
  for (const folder of ['skills', 'docs']) rmSync(path.resolve(folder), { recursive: true, force: true });
  cpSync(path.join(root, 'skills'), path.resolve('skills'), { recursive: true });
  const isPage = (place) =>
    !/docs\/(site|images)(\/|$)/.test(place.replaceAll(path.sep, '/')) && !place.endsWith('.yaml');
  cpSync(path.join(root, 'docs'), path.resolve('docs'), { recursive: true, filter: isPage });
}
