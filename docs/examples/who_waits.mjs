// Ask a running `stallkit serve` what waits for a person, and reply: node who_waits.mjs [ID@REVISION TEXT]
// JSON-RPC 2.0, a request a line, at a unix socket that only this user reaches.
import { createConnection } from "node:net";
import { homedir } from "node:os";
import { createInterface } from "node:readline";

const state = process.env.STALLKIT_STATE_DIR ?? `${process.env.XDG_STATE_HOME ?? `${homedir()}/.local/state`}/stallkit`;
const socket = createConnection(`${state}/serve/rpc.sock`);
const waiting = new Map();
let last = 0;

const fail = (why) => { console.error(why); process.exit(1); };

socket.on("error", (error) => fail(`no stallkit serve: ${error.message}`));
createInterface({ input: socket }).on("line", (line) => {
  const { id, result, error } = JSON.parse(line);
  if (error) fail(error.message);
  waiting.get(id)(result);
  waiting.delete(id);
});

const ask = (method, params = {}) => new Promise((answered) => {
  waiting.set(++last, answered);
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: last, method, params })}\n`);
});

const [item, ...words] = process.argv.slice(2);
const [id, revision] = (item ?? "").split("@").map(Number);
if (id) console.log(await ask("reply", { id, revision, text: words.join(" ") }).then((it) => `${it.result}: ${it.why}`));
for (const it of (await ask("who_waits")).items) {
  console.log(`${it.id}@${it.revision}`, it.session, it.kind ?? "notice", it.words);
}
socket.end();
