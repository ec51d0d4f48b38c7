/**
 * Tests talk to hubs that they start. Settings of a developer's shell for the real hub, such as HF_HUB_OFFLINE=1, must
 * not reach them.
 */
const ofTheHub = /^(HF|HUGGINGFACE)_|^TRANSFORMERS_OFFLINE$/;

for (const name of Object.keys(process.env)) if (ofTheHub.test(name)) Reflect.deleteProperty(process.env, name);
