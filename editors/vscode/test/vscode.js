// As much of the API of VS Code as the language client needs to speak to a server in plain Node. Whatever is not named
// here is a class, a function or an event that does nothing.
"use strict";

class Disposable {
  constructor(end) {
    this.end = end;
  }
  dispose() {
    this.end?.();
  }
}

class EventEmitter {
  listeners = new Set();
  event = (listener, self) => {
    const bound = self === undefined ? listener : listener.bind(self);
    this.listeners.add(bound);
    return new Disposable(() => this.listeners.delete(bound));
  };
  fire(value) {
    for (const each of [...this.listeners]) each(value);
  }
  dispose() {
    this.listeners.clear();
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => new Disposable() };
  cancel() {}
  dispose() {}
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(...at) {
    [this.start, this.end] = at.length === 4 ? [new Position(at[0], at[1]), new Position(at[2], at[3])] : at;
  }
}

class Uri {
  constructor(text) {
    this.text = text;
    [this.scheme] = text.split(":");
    this.fsPath = this.path = decodeURIComponent(new URL(text).pathname);
  }
  toString() {
    return this.text;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(require("node:url").pathToFileURL(path).href);
  }
}

class CodeActionKind {
  static Empty = new CodeActionKind("");
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value === "" ? part : `${this.value}.${part}`);
  }
}
for (const each of ["QuickFix", "Refactor", "RefactorExtract", "RefactorInline", "RefactorRewrite", "Source"]) {
  CodeActionKind[each] = CodeActionKind.Empty.append(each[0].toLowerCase() + each.slice(1));
}

/** A namespace or class of which only some parts are said. */
function loose(known = {}) {
  const nothing = class {
    constructor(...parts) {
      this.parts = parts;
    }
  };
  return new Proxy(Object.assign(nothing, known), {
    get(target, name) {
      if (name in target || typeof name === "symbol") return target[name];
      if (/^on(Did|Will)/.test(name)) return () => new Disposable();
      if (/^(register|create)/.test(name)) return () => new Disposable();
      return loose();
    },
    apply: () => undefined,
  });
}

exports.make = function make(folder, settings) {
  const opened = new EventEmitter();
  const said = [];
  const commands = new Map();
  const shown = new EventEmitter();
  const textDocuments = [];
  const part = (name) => name.split(".").reduce((value, each) => value?.[each], settings);
  const known = {
    Disposable, EventEmitter, CancellationTokenSource, CodeActionKind, Position, Range, Uri,
    version: "1.82.0",
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    StatusBarAlignment: { Left: 1, Right: 2 },
    Diagnostic: class {
      constructor(range, message, severity) {
        Object.assign(this, { range, message, severity });
      }
    },
    env: { language: "en", appName: "node" },
    extensions: { getExtension: () => undefined, all: [] },
    commands: {
      registerCommand: (name, run) => (commands.set(name, run), new Disposable(() => commands.delete(name))),
      executeCommand: (name, ...given) => commands.get(name)?.(...given),
    },
    languages: loose({
      match: (selector, document) => selector.some?.((each) => each.language === document.languageId) ?? false,
      createDiagnosticCollection: () => ({
        set: (uri, found) => shown.fire({ uri: String(uri), found }),
        delete() {}, clear() {}, dispose() {}, forEach() {},
      }),
    }),
    window: loose({
      visibleTextEditors: [],
      visibleNotebookEditors: [],
      tabGroups: loose({ all: [], onDidChangeTabs: () => new Disposable() }),
      createOutputChannel: () => ({ append() {}, appendLine: (text) => said.push(text), show() {}, dispose() {} }),
      createStatusBarItem: () => ({ show() {}, dispose() {} }),
      showErrorMessage: (text) => (said.push(text), Promise.resolve()),
      showWarningMessage: (text) => (said.push(text), Promise.resolve()),
    }),
    workspace: loose({
      textDocuments,
      notebookDocuments: [],
      workspaceFolders: [{ uri: Uri.file(folder), name: "test", index: 0 }],
      getWorkspaceFolder: () => ({ uri: Uri.file(folder), name: "test", index: 0 }),
      fs: { isWritableFileSystem: () => true },
      getConfiguration: (section) => ({
        get: (name, otherwise) => part(section ? `${section}.${name}` : name) ?? otherwise,
        inspect: () => undefined,
        ...(section ? part(section) : settings),
      }),
      onDidOpenTextDocument: opened.event,
    }),
  };
  const api = new Proxy(known, { get: (target, name) => (name in target ? target[name] : loose()) });
  return { api, said, shown, commands, open: (document) => (textDocuments.push(document), opened.fire(document)) };
};
