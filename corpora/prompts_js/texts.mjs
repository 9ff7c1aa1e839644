// The questions, in words that no signature must know: plain, long enough to wrap, and in other languages.
const sets = {
  plain: {
    text: "Name of the project", initial: "my-app", confirm: "Install the dependencies now?", secret: "Password",
    number: "Port", search: "Find a package", editor: "Release notes", expand: "config.json differs", toggle: "Add a linter?",
    select: "Which template?", multi: "Which parts do you need?", yes: "Yes", no: "No",
    options: ["minimal", "library", "command line", "web service", "monorepo"],
  },
  other: {
    text: "Who is the author?", initial: "dev@example.org", confirm: "Delete the old build?", secret: "API token",
    number: "How many workers?", search: "Search for a region:", editor: "Describe the change", expand: "What shall be done with it?", toggle: "Strict mode",
    select: "Where does it run:", multi: "Targets", yes: "On", no: "Off",
    options: ["here", "in a container", "on another host", "nowhere"],
  },
  long: {
    text: "What shall the package be called that the registry will list, and that everybody else then has to type in", initial: "@scope/package",
    confirm: "The folder holds files that were not made by this tool; shall it go on and write its own beside them all the same?",
    secret: "Passphrase of the key that signs what is published from this machine, as it was given when the key was made",
    number: "After how many seconds without an answer from the other side shall a request be given up and tried again",
    search: "Look for a package by any part of its name, or by a word out of the line that describes what it does",
    editor: "Say in a few words for those who come after you why this change was made and what else was considered before",
    expand: "The file on the disk and the one in the template differ in more than blanks, and both were changed since the last run",
    toggle: "Should everything that is found on the way be written down, even where nobody is likely to ever read it again",
    select: "Which of the following layouts shall the new project have, given that it cannot be changed very easily later on",
    multi: "Which of these extras shall be put into the project right away, knowing that each of them can be added later too",
    yes: "Yes", no: "No", options: ["one package, one folder", "several packages in a workspace", "only a single file and nothing beside it"],
  },
  german: {
    text: "Wie soll das Projekt heißen?", initial: "mein-projekt", confirm: "Abhängigkeiten jetzt installieren?", secret: "Passwort",
    number: "Anschluss", search: "Paket suchen", editor: "Beschreibung", expand: "Datei ist schon da", toggle: "Prüfung einschalten?",
    select: "Welche Vorlage?", multi: "Was wird gebraucht?", yes: "Ja", no: "Nein", options: ["klein", "mittel", "groß"],
  },
  japanese: {
    text: "プロジェクト名", initial: "サンプル", confirm: "今すぐインストールしますか?", secret: "パスワード",
    number: "ポート番号", search: "パッケージを検索", editor: "説明", expand: "ファイルが違います", toggle: "検査を使いますか?",
    select: "テンプレートを選んでください", multi: "必要な機能", yes: "はい", no: "いいえ", options: ["最小", "ライブラリ", "コマンド"],
  },
};

export const words = (name) => {
  if (!sets[name]) throw new Error(`no words called ${name}: ${Object.keys(sets).join(", ")}`);
  return sets[name];
};
