// node ink.mjs KIND [WORDS [AFTER]]: the inputs that Ink programs use, bare or in a box.
import { writeFileSync } from "node:fs";
import React, { useEffect, useState } from "react";
import { Box, Text, render } from "ink";
import Spinner from "ink-spinner";
import * as ui from "@inkjs/ui";
import SelectInput from "ink-select-input";
import TextInput from "ink-text-input";
import { words } from "./texts.mjs";

const [kind, set = "plain", after = "quiet"] = process.argv.slice(2);
const w = words(set);
const h = React.createElement;
const interop = (found) => found.default?.default ?? found.default ?? found;
const items = w.options.map((label) => ({ label, value: label, key: label }));
const options = w.options.map((label) => ({ label, value: label }));
const ConfirmInput = kind === "confirm" ? interop(await import("ink-confirm-input")) : null;

function Typed({ done, mask }) {
  const [value, set] = useState("");
  return h(TextInput, { value, onChange: set, onSubmit: done, mask, placeholder: mask ? "" : w.initial });
}
function YesNo({ done }) {
  const [value, set] = useState("");
  return h(ConfirmInput, { value, onChange: set, onSubmit: done });
}
const asked = (question, input) => h(Box, { flexDirection: "column" }, h(Text, { bold: true }, question), input);
const kinds = {
  select: (done) => asked(w.select, h(SelectInput, { items, onSelect: done })),
  boxed: (done) => h(Box, { borderStyle: "round", paddingX: 1 }, asked(w.select, h(SelectInput, { items, onSelect: done }))),
  text: (done) => h(Box, {}, h(Text, {}, `${w.text}: `), h(Typed, { done })),
  question: (done) => h(Box, {}, h(Text, {}, "? "), h(Text, {}, `${w.text} `), h(Typed, { done })),
  secret: (done) => h(Box, {}, h(Text, {}, `${w.secret}: `), h(Typed, { done, mask: "*" })),
  confirm: (done) => h(Box, {}, h(Text, {}, `${w.confirm} (Y/n) `), h(YesNo, { done })),
  uiselect: (done) => asked(w.select, h(ui.Select, { options, onChange: done })),
  uimulti: (done) => asked(w.multi, h(ui.MultiSelect, { options, onSubmit: done })),
  uiconfirm: (done) => h(Box, {}, h(Text, {}, `${w.confirm} `), h(ui.ConfirmInput, { onConfirm: done, onCancel: done })),
  uitext: (done) => asked(w.text, h(ui.TextInput, { placeholder: w.initial, onSubmit: done })),
  uisecret: (done) => asked(w.secret, h(ui.PasswordInput, { placeholder: "...", onSubmit: done })),
  spinner: () => h(Text, {}, h(Spinner, { type: "dots" }), ` ${w.confirm}`),
  uispinner: () => h(ui.Spinner, { label: w.select }),
};
function App() {
  const [answer, answered] = useState(null);
  useEffect(() => { const ticks = setInterval(() => {}, 1000); return () => clearInterval(ticks); }, []);
  const done = (value) => { if (process.env.PROMPT_DONE) writeFileSync(process.env.PROMPT_DONE, "answered"); answered(value ?? true); };
  if (answer === null) return kinds[kind](done);
  return after === "busy" ? h(Text, {}, h(Spinner, { type: "dots" }), " Writing files") : h(Text, {}, "Noted.");
}
render(h(App));
