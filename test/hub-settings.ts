/**
 * Removes a developer's settings for the real hub, such as HF_HUB_OFFLINE=1, from the environment. Tests start the hubs
 * that they use.
 */
const ofTheHub = /^(HF|HUGGINGFACE)_|^TRANSFORMERS_OFFLINE$/;

for (const name of Object.keys(process.env)) if (ofTheHub.test(name)) Reflect.deleteProperty(process.env, name);
