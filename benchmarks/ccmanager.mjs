// One round of ccmanager's detectors: `node ccmanager.mjs FOLDER SCREENS.json ROUNDS`, FOLDER with its node_modules.
// Prints JSON: CPU seconds of one look at one screen, by detector, the median of the rounds.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, file, rounds] = process.argv.slice(2);
const modules = join(folder, 'node_modules');
const { createStateDetector } = await import(
  pathToFileURL(join(modules, 'ccmanager/dist/services/stateDetector/index.js'))
);
const { Terminal } = createRequire(join(modules, 'x.js'))('@xterm/headless');

// As ccmanager has it: a terminal of xterm for each session, read by the detector at each look.
const screens = JSON.parse(readFileSync(file, 'utf8'));
const terminals = await Promise.all(
  screens.map(
    ({ lines, columns }) =>
      new Promise(done => {
        const terminal = new Terminal({ cols: columns, rows: Math.max(2, lines.length), allowProposedApi: true });
        terminal.write(lines.join('\r\n'), () => done(terminal));
      }),
  ),
);

const names = ['claude', 'gemini', 'codex', 'cursor', 'github-copilot', 'cline', 'opencode', 'kimi'];
const ways = Object.fromEntries(names.map(name => [name, [name]]));
ways['all of them'] = names;

function seconds(detectors) {
  const before = process.cpuUsage();
  let looks = 0;
  do {
    for (const terminal of terminals) for (const one of detectors) one.detectState(terminal, 'busy');
    looks += terminals.length;
  } while (process.cpuUsage(before).user < 20_000);
  const spent = process.cpuUsage(before);
  return (spent.user + spent.system) / 1e6 / looks;
}

const taken = {};
for (let round = 0; round <= Number(rounds); round++) {
  for (const [name, own] of Object.entries(ways)) {
    const spent = seconds(own.map(createStateDetector));
    if (round) (taken[name] ??= []).push(spent); // the first warms up
  }
}
const median = all => all.sort((one, other) => one - other)[all.length >> 1];
console.log(JSON.stringify(Object.fromEntries(Object.entries(taken).map(([name, all]) => [name, median(all)]))));
