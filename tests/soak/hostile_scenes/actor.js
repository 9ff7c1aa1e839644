// A program of a scene that node runs: draws `text`, reads keys in raw mode, and writes down every byte: see actor.py.
const fs = require('node:fs');
const { text, title, takes } = JSON.parse(fs.readFileSync(process.argv.at(-1), 'utf8'))[0];
if (title) process.title = title;
const got = (data) => fs.appendFileSync('got', `0 ${Buffer.from(data).toString('hex')}\n`);
if (takes !== 'line') process.stdin.setRawMode(true);
process.stdout.write('\x1b[H\x1b[2J' + (takes === 'line' ? text : text.replaceAll('\n', '\r\n')));
process.stdin.on('data', got);
