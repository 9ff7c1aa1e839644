// node ask.mjs LIBRARY KIND [WORDS [AFTER]]: one prompt of one library, and what the program does after the answer:
// "quiet" stays silent, "busy" prints more lines, "spin" turns a spinner.
// The libraries are installed beside a copy of this file.
import { writeFileSync } from "node:fs";
import { words } from "./texts.mjs";

const [library, kind, set = "plain", after = "quiet"] = process.argv.slice(2);
const w = words(set);
const load = async (name) => { const found = await import(name); return found.default ?? found; };
const all = async (name) => import(name);

const oldInquirer = (name) => async () => {
  const inquirer = await load(name);
  const plugin = async () => inquirer.registerPrompt("autocomplete", await load("inquirer-autocomplete-prompt"));
  const ask = (question) => inquirer.prompt([{ name: "v", ...question }]);
  return {
    text: () => ask({ type: "input", message: w.text }),
    proposal: () => ask({ type: "input", message: w.text, default: w.initial }),
    number: () => ask({ type: "number", message: w.number }),
    secret: () => ask({ type: "password", message: w.secret }),
    masked: () => ask({ type: "password", message: w.secret, mask: "*" }),
    confirm: () => ask({ type: "confirm", message: w.confirm, default: false }),
    select: () => ask({ type: "list", message: w.select, choices: w.options }),
    multi: () => ask({ type: "checkbox", message: w.multi, choices: w.options }),
    rawlist: () => ask({ type: "rawlist", message: w.select, choices: w.options }),
    expand: () => ask({ type: "expand", message: w.expand, choices: [{ key: "y", name: "take", value: 1 }, { key: "n", name: "keep", value: 2 }, { key: "d", name: "show", value: 3 }] }),
    editor: () => ask({ type: "editor", message: w.editor }),
    error: () => ask({ type: "input", message: w.text, validate: () => "That name is taken" }),
    search: async () => { await plugin(); return ask({ type: "autocomplete", message: w.search, source: async (_, typed = "") => w.options.filter((o) => o.includes(typed)) }); },
  };
};

const ofPrompts = (name) => async () => {
  const prompts = await load(name);
  const choices = w.options.map((title) => ({ title, value: title }));
  const ask = (question) => prompts({ name: "v", ...question });
  return {
    text: () => ask({ type: "text", message: w.text }),
    proposal: () => ask({ type: "text", message: w.text, initial: w.initial }),
    number: () => ask({ type: "number", message: w.number }),
    numberproposal: () => ask({ type: "number", message: w.number, initial: 8080 }),
    secret: () => ask({ type: "password", message: w.secret }),
    invisible: () => ask({ type: "invisible", message: w.secret }),
    confirm: () => ask({ type: "confirm", message: w.confirm }),
    confirmyes: () => ask({ type: "confirm", message: w.confirm, initial: true }),
    toggle: () => ask({ type: "toggle", message: w.toggle, active: w.yes, inactive: w.no }),
    select: () => ask({ type: "select", message: w.select, choices }),
    multi: () => ask({ type: "multiselect", message: w.multi, choices }),
    multibare: () => ask({ type: "multiselect", message: w.multi, choices, instructions: false, hint: "space and return" }),
    search: () => ask({ type: "autocomplete", message: w.search, choices }),
    searchmulti: () => ask({ type: "autocompleteMultiselect", message: w.search, choices }),
    list: () => ask({ type: "list", message: w.text }),
    date: () => ask({ type: "date", message: w.text, initial: new Date(2031, 4, 5) }),
    error: () => ask({ type: "text", message: w.text, validate: () => "That name is taken" }),
  };
};

const ofClack = (name) => async () => {
  const clack = await all(name);
  const options = w.options.map((label) => ({ label, value: label }));
  const within = (ask) => async () => { clack.intro("setup"); const got = await ask(); clack.log?.step?.("noted"); return got; };
  return {
    text: within(() => clack.text({ message: w.text })),
    hint: within(() => clack.text({ message: w.text, placeholder: w.initial })),
    proposal: within(() => clack.text({ message: w.text, initialValue: w.initial })),
    secret: within(() => clack.password({ message: w.secret })),
    confirm: within(() => clack.confirm({ message: w.confirm })),
    confirmwords: within(() => clack.confirm({ message: w.toggle, active: w.yes, inactive: w.no })),
    confirmtall: within(() => clack.confirm({ message: w.confirm, vertical: true })),
    select: within(() => clack.select({ message: w.select, options })),
    selecthints: within(() => clack.select({ message: w.select, options: options.map((o, i) => ({ ...o, hint: `choice ${i}` })) })),
    selectmany: within(() => clack.select({ message: w.select, maxItems: 5, options: Array.from({ length: 30 }, (_, i) => ({ value: i, label: `region ${i}` })) })),
    multi: within(() => clack.multiselect({ message: w.multi, options })),
    multierror: within(() => clack.multiselect({ message: w.multi, options, required: true })),
    group: within(() => clack.groupMultiselect({ message: w.multi, options: { [w.yes]: options.slice(0, 2), [w.no]: options.slice(2) } })),
    keys: within(() => clack.selectKey({ message: w.select, options: options.map((o, i) => ({ ...o, value: "abcdef"[i] })) })),
    search: within(() => clack.autocomplete({ message: w.search, options })),
    searchmulti: within(() => clack.autocompleteMultiselect({ message: w.multi, options })),
    path: within(() => clack.path({ message: w.text, root: "/usr" })),
    multiline: within(() => clack.multiline({ message: w.editor })),
    date: within(() => clack.date({ message: w.text })),
    error: within(() => clack.text({ message: w.text, validate: () => "That name is taken" })),
    noted: async () => { clack.intro("setup"); clack.note("first do this\nthen do that", "Next"); return clack.confirm({ message: w.confirm }); },
    spinner: async () => { clack.intro("setup"); clack.spinner().start("Installing the dependencies"); await never(); },
    spinnerask: async () => { clack.intro("setup"); clack.spinner().start("Continue? Answering questions"); await never(); },
    progress: async () => { clack.intro("setup"); const bar = clack.progress({ max: 100 }); bar.start("Fetching"); let n = 0; setInterval(() => bar.advance(1, `Fetching ${++n}`), 300); await never(); },
    logs: async () => { clack.intro("setup"); clack.log.step("Templates copied"); clack.log.info("Which one? See the notes"); clack.log.success("Ready"); await never(); },
    outro: async () => { clack.intro("setup"); clack.outro("All set"); },
    cancel: async () => { clack.intro("setup"); clack.cancel("Stopped by hand"); },
  };
};

const libraries = {
  prompts: ofPrompts("prompts"),
  prompts1: ofPrompts("prompts1"),
  inquirer6: oldInquirer("inquirer6"),
  inquirer7: oldInquirer("inquirer7"),
  inquirer8: oldInquirer("inquirer8"),
  inquirer9: oldInquirer("inquirer9"),
  inquirer: oldInquirer("inquirer"),
  clack: ofClack("@clack/prompts"),
  clack0: ofClack("clack0"),
  "@inquirer": async () => {
    const ask = await all("@inquirer/prompts");
    const choices = w.options.map((name) => ({ name, value: name }));
    return {
      text: () => ask.input({ message: w.text }),
      proposal: () => ask.input({ message: w.text, default: w.initial }),
      editable: () => ask.input({ message: w.text, default: w.initial, prefill: "editable" }),
      number: () => ask.number({ message: w.number, default: 4 }),
      secret: () => ask.password({ message: w.secret }),
      masked: () => ask.password({ message: w.secret, mask: true }),
      confirm: () => ask.confirm({ message: w.confirm, default: false }),
      select: () => ask.select({ message: w.select, choices }),
      described: () => ask.select({ message: w.select, choices: choices.map((c) => ({ ...c, description: `About ${c.name}` })) }),
      multi: () => ask.checkbox({ message: w.multi, choices }),
      multierror: () => ask.checkbox({ message: w.multi, choices, required: true }),
      rawlist: () => ask.rawlist({ message: w.select, choices }),
      expand: () => ask.expand({ message: w.expand, choices: [{ key: "y", name: "take", value: 1 }, { key: "n", name: "keep", value: 2 }] }),
      editor: () => ask.editor({ message: w.editor }),
      search: () => ask.search({ message: w.search, source: (typed = "") => choices.filter((c) => c.name.includes(typed)) }),
      error: () => ask.input({ message: w.text, validate: () => "That name is taken" }),
    };
  },
  enquirer: async () => {
    const { prompt } = await load("enquirer");
    const ask = (question) => prompt({ name: "v", ...question });
    const choices = [...w.options];
    return {
      text: () => ask({ type: "input", message: w.text }),
      proposal: () => ask({ type: "input", message: w.text, initial: w.initial }),
      number: () => ask({ type: "numeral", message: w.number }),
      secret: () => ask({ type: "password", message: w.secret }),
      invisible: () => ask({ type: "invisible", message: w.secret }),
      confirm: () => ask({ type: "confirm", message: w.confirm }),
      toggle: () => ask({ type: "toggle", message: w.toggle, enabled: w.yes, disabled: w.no }),
      select: () => ask({ type: "select", message: w.select, choices }),
      multi: () => ask({ type: "multiselect", message: w.multi, choices }),
      search: () => ask({ type: "autocomplete", message: w.search, choices }),
      list: () => ask({ type: "list", message: w.text }),
      sort: () => ask({ type: "sort", message: w.select, choices, numbered: true }),
      quiz: () => ask({ type: "quiz", message: w.select, choices, correctChoice: 1 }),
      form: () => ask({ type: "form", message: w.multi, choices: [{ name: "a", message: "First" }, { name: "b", message: "Second", initial: w.initial }] }),
      snippet: () => ask({ type: "snippet", message: w.text, template: '{\n  "name": "{{name}}",\n  "version": "{{version}}"\n}' }),
      scale: () => ask({ type: "scale", message: w.multi, scale: [{ name: "1", message: "bad" }, { name: "2", message: "good" }], choices: [{ name: "x", message: "speed", initial: 1 }, { name: "y", message: "size", initial: 0 }] }),
      error: () => ask({ type: "input", message: w.text, validate: () => "That name is taken" }),
    };
  },
  promptly: async () => {
    const promptly = await load("promptly");
    return {
      text: () => promptly.prompt(`${w.text}: `), proposal: () => promptly.prompt(`${w.text}: `, { default: w.initial }), confirm: () => promptly.confirm(`${w.confirm} `),
      choose: () => promptly.choose(`${w.select} (${w.options.join(", ")}) `, w.options), secret: () => promptly.password(`${w.secret}: `), masked: () => promptly.password(`${w.secret}: `, { replace: "*" }),
    };
  },
  "readline-sync": async () => {
    const ask = await load("readline-sync");
    return {
      text: () => ask.question(`${w.text}: `), secret: () => ask.question(`${w.secret}: `, { hideEchoBack: true }), confirm: () => ask.keyInYN(w.confirm),
      strict: () => ask.keyInYNStrict(w.confirm), select: () => ask.keyInSelect(w.options, w.select), pause: () => ask.keyInPause(), number: () => ask.questionInt(`${w.number}: `), mail: () => ask.questionEMail(),
    };
  },
  "@topcli": async () => {
    const ask = await all("@topcli/prompts");
    return {
      text: () => ask.question(w.text), proposal: () => ask.question(w.text, { defaultValue: w.initial }), secret: () => ask.question(w.secret, { secure: true }), confirm: () => ask.confirm(w.confirm),
      select: () => ask.select(w.select, { choices: w.options }), search: () => ask.select(w.search, { choices: w.options, autocomplete: true }), multi: () => ask.multiselect(w.multi, { choices: w.options, preSelectedChoices: [w.options[1]] }),
    };
  },
  "terminal-kit": async () => {
    const { terminal: term } = await load("terminal-kit");
    const say = (text) => { term(text); };
    return {
      text: () => { say(`${w.text}: `); return term.inputField({}).promise; }, proposal: () => { say(`${w.text}: `); return term.inputField({ default: w.initial }).promise; },
      secret: () => { say(`${w.secret}: `); return term.inputField({ echoChar: true }).promise; },
      confirm: () => { say(`${w.confirm} [Y|n]\n`); return term.yesOrNo({ yes: ["y", "ENTER"], no: ["n"] }).promise; },
      select: () => { say(`${w.select}\n`); return term.singleColumnMenu(w.options).promise; }, line: () => { say(`${w.select}\n`); return term.singleLineMenu(w.options).promise; }, grid: () => { say(`${w.select}\n`); return term.gridMenu(w.options).promise; },
    };
  },
  "@poppinss": async () => {
    const { Prompt, prompt = new Prompt() } = await all("@poppinss/prompts");
    return {
      text: () => prompt.ask(w.text), proposal: () => prompt.ask(w.text, { default: w.initial }), secret: () => prompt.secure(w.secret), confirm: () => prompt.confirm(w.confirm),
      toggle: () => prompt.toggle(w.toggle, [w.yes, w.no]), select: () => prompt.choice(w.select, w.options), multi: () => prompt.multiple(w.multi, w.options), search: () => prompt.autocomplete(w.search, w.options), list: () => prompt.list(w.text),
    };
  },
  prompt: async () => {
    const prompt = await load("prompt");
    prompt.start();
    return { text: () => prompt.get([{ name: "name", description: w.text }]), proposal: () => prompt.get([{ name: "name", description: w.text, default: w.initial }]), secret: () => prompt.get([{ name: "name", description: w.secret, hidden: true }]) };
  },
  listr2: async () => {
    const { Listr } = await all("listr2");
    const { ListrEnquirerPromptAdapter } = await all("@listr2/prompt-adapter-enquirer");
    const run = (tasks, options = {}) => new Listr(tasks, options).run();
    const asks = (question) => () => run([{ title: "Checking the working tree", task: () => {} }, { title: "Releasing", task: (_, task) => task.prompt(ListrEnquirerPromptAdapter).run(question) }]);
    return {
      text: asks({ type: "input", message: w.text }), confirm: asks({ type: "confirm", message: w.confirm }), select: asks({ type: "select", message: w.select, choices: [...w.options] }),
      multi: asks({ type: "multiselect", message: w.multi, choices: [...w.options] }), secret: asks({ type: "password", message: w.secret }), toggle: asks({ type: "toggle", message: w.toggle, enabled: w.yes, disabled: w.no }),
      spinner: () => run([{ title: "Checking", task: () => {} }, { title: `${w.confirm}`, task: () => never() }]),
      output: () => run([{ title: "Installing", task: (_, task) => { let n = 0; setInterval(() => { task.output = `? Answer ${++n} ›`; }, 400); return never(); } }]),
    };
  },
  ora: async () => ({ spinner: async () => { (await load("ora"))(w.confirm).start(); await never(); } }),
  cliui: async () => {
    const ui = (await load("cliui"))({ width: 60 });
    return { columns: async () => { for (const name of w.options) ui.div({ text: `? ${name}`, width: 30 }, { text: "(y/N) is asked for", width: 30 }); console.log(ui.toString()); await never(); } };
  },
};

const never = () => new Promise(() => { setInterval(() => {}, 1000); });

const kinds = await libraries[library]();
if (!kinds[kind]) throw new Error(`${library} has no ${kind}: ${Object.keys(kinds).join(", ")}`);
await kinds[kind]();
if (process.env.PROMPT_DONE) writeFileSync(process.env.PROMPT_DONE, "answered"); // the truth, beside the screen
if (after === "spin") { let n = 0; process.stdout.write("\x1b[?25l"); console.log("✔ Templates fetched"); setInterval(() => process.stdout.write(`\r${"⠋⠙⠹⠸"[++n % 4]} Installing the dependencies`), 120); await never(); }
if (after === "busy") { let n = 0; console.log("Writing files"); setInterval(() => console.log(`  step ${++n}`), 400); await never(); }
if (after === "quiet") { process.stdin.pause(); await never(); }
