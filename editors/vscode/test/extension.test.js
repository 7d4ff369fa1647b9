// The extension as it is packaged, in plain Node: it starts the real server and shows what that finds.
// TORCHLEAK: the command that runs torchleak, its parts separated by blanks; by default the one on the path.
"use strict";

const assert = require("node:assert");
const fs = require("node:fs");
const Module = require("node:module");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");

const { make } = require("./vscode.js");

const LEAK = `import torch
def train(model, loader, criterion, optimizer):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss
    return total
`;
const command = (process.env.TORCHLEAK ?? "torchleak").split(" ");

/** The extension with an API of its own. */
function loaded(api) {
  const resolve = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? api : resolve(name, ...rest));
  const place = require.resolve("../dist/extension.js");
  delete require.cache[place];
  try {
    return require(place);
  } finally {
    Module._load = resolve;
  }
}

test("a leak is shown as it is typed into an editor", { timeout: 60000 }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "torchleak-"));
  const editor = make(folder, { torchleak: { client: { command: [...command, "server"] }, debounce: 0, run: "type" } });
  const extension = loaded(editor.api);
  await extension.activate({ subscriptions: [] });
  const registered = [...editor.commands.keys()].filter((each) => each.startsWith("torchleak.")).sort();
  const names = ["checkAll", "checkWorkspace", "explain", "restart", "showLog"];
  assert.deepStrictEqual(registered, names.map((each) => `torchleak.${each}`), editor.said.join("\n"));
  const next = new Promise((done) => editor.shown.event(done));
  const uri = editor.api.Uri.file(path.join(folder, "leak.py"));
  editor.open({ uri, languageId: "python", version: 1, getText: () => LEAK, isClosed: false });
  const { found } = await next;
  assert.strictEqual(found.length, 1, editor.said.join("\n"));
  assert.strictEqual(found[0].code?.value ?? found[0].code, "TLK401");
  assert.deepStrictEqual({ ...found[0].range.start }, { line: 8, character: 8 });
  await extension.deactivate();
});

test("where no server is there, what to install is said", { timeout: 60000 }, async () => {
  const editor = make(os.tmpdir(), { torchleak: { client: { command: ["/nowhere/torchleak"] } } });
  const extension = loaded(editor.api);
  await extension.activate({ subscriptions: [] });
  assert.ok(editor.said.some((each) => each.includes("pip install 'flake8-torchleak[server]'")), editor.said.join("\n"));
});
