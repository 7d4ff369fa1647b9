import * as vscode from "vscode";
import { LanguageClient, State, type LanguageClientOptions } from "vscode-languageclient/node";

import { advice, serverCommand } from "./environment";

/** What we need of the API of Microsoft's Python extension; it may not be installed. */
interface PythonApi {
  environments: {
    getActiveEnvironmentPath(): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

let client: LanguageClient | undefined;
let log: vscode.OutputChannel;
let status: vscode.StatusBarItem;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel("torchleak");
  status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right);
  status.command = "torchleak.showLog";
  const command = vscode.commands.registerCommand;
  context.subscriptions.push(
    log,
    status,
    command("torchleak.restart", restart),
    command("torchleak.showLog", () => log.show()),
    command("torchleak.checkAll", () => vscode.commands.executeCommand("torchleak.checkWorkspace")),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("torchleak.client")) {
        void restart();
      }
    }),
  );
  const python = await pythonApi();
  if (python !== undefined) {
    context.subscriptions.push(python.environments.onDidChangeActiveEnvironmentPath(() => void restart()));
  }
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}

async function stop(): Promise<void> {
  const old = client;
  client = undefined;
  await old?.stop().catch((error: unknown) => log.appendLine(String(error)));
}

async function start(): Promise<void> {
  const configured = vscode.workspace.getConfiguration("torchleak").get<string[] | null>("client.command");
  const server = serverCommand(configured, await pythonPath());
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "python" }],
    outputChannel: log,
    synchronize: { configurationSection: "torchleak" },
  };
  client = new LanguageClient("torchleak", "torchleak", server, options);
  client.onDidChangeState(({ newState }) => {
    status.text = newState === State.Running ? "torchleak" : newState === State.Starting ? "torchleak …" : "torchleak ✗";
    status.tooltip = [server.command, ...server.args].join(" ");
    status.show();
  });
  try {
    await client.start();
  } catch (error) {
    log.appendLine(String(error));
    void vscode.window.showWarningMessage(advice(server));
  }
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  return extension?.isActive ? extension.exports : extension?.activate();
}

async function pythonPath(): Promise<string | undefined> {
  const python = await pythonApi();
  const found = await python?.environments.resolveEnvironment(python.environments.getActiveEnvironmentPath());
  return found?.executable.uri?.fsPath;
}
