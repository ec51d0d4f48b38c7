// Refuses a Node that is too old. Import it first: imports run in order, and the others may not run on such a Node.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`AgentJet needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(1);
}
