/** Tests talk to hubs that they start: what a developer's shell says of the real one, such as HF_HUB_OFFLINE=1, is not theirs. */
const ofTheHub = /^(HF|HUGGINGFACE)_|^TRANSFORMERS_OFFLINE$/;

for (const name of Object.keys(process.env)) if (ofTheHub.test(name)) Reflect.deleteProperty(process.env, name);
