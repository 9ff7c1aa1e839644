// Asks one question with one of the real prompt libraries: node ask.cjs LIBRARY KIND
// The libraries are in the folder $NODE_LIBS (scripts/test installs them).  Once answered it stays, and works silently.
const { createRequire } = require("node:module");
const { pathToFileURL } = require("node:url");

const from = createRequire(process.env.NODE_LIBS + "/package.json");
const load = async (name) => {
  const module = await import(pathToFileURL(from.resolve(name)));
  return module.default && !module.select ? module.default : module;
};

const colours = ["Red", "Green", "Blue"];
const ask = {
  prompts: async (kind) => {
    const prompts = await load("prompts");
    const choices = colours.map((title) => ({ title, value: title }));
    return prompts({ type: kind, name: "value", message: messages[kind], choices });
  },
  enquirer: async (kind) => {
    const { prompt } = await load("enquirer");
    const type = { text: "input" }[kind] || kind;
    return prompt({ type, name: "value", message: messages[kind], choices: [...colours] });
  },
  inquirer: async (kind) => {
    const inquirer = await load("inquirer");
    const type = { text: "input", select: "list", multiselect: "checkbox" }[kind] || kind;
    return inquirer.prompt([{ type, name: "value", message: messages[kind], choices: colours }]);
  },
  "@inquirer/prompts": async (kind) => {
    const library = await load("@inquirer/prompts");
    const choices = colours.map((name) => ({ name, value: name }));
    return library[{ text: "input", multiselect: "checkbox" }[kind] || kind]({ message: messages[kind], choices });
  },
  "@clack/prompts": async (kind) => {
    const library = await load("@clack/prompts");
    const options = colours.map((label) => ({ label, value: label }));
    library.intro("create a project");
    return library[kind]({ message: messages[kind], options });
  },
};
const messages = {
  text: "What is the project called?",
  confirm: "Install the dependencies?",
  select: "Pick a colour",
  multiselect: "Pick some colours",
  password: "Registry token",
};

const [library, kind] = process.argv.slice(2);
ask[library](kind).then(() => setInterval(() => {}, 1000));
