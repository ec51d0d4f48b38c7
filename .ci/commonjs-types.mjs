// Copies the declarations of an adapter before it is packed, for users whose files are CommonJS. The compiler reads a
// declaration in the kind of its package.json. In the copy, the imports of a framework lead to the framework's
// declarations for CommonJS, whose classes differ from those for ES modules.
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const [from, to] = [path.resolve('dist'), path.resolve('dist/commonjs')];
rmSync(to, { recursive: true, force: true });
for (const file of readdirSync(from, { recursive: true, encoding: 'utf8' })) {
  if (!file.endsWith('.d.ts')) continue;
  mkdirSync(path.dirname(path.join(to, file)), { recursive: true });
  copyFileSync(path.join(from, file), path.join(to, file));
}
writeFileSync(path.join(to, 'package.json'), '{ "type": "commonjs" }\n');
