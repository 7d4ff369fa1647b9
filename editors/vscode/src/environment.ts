/** Which command starts the server: nothing here knows VS Code. */

export interface Command {
  command: string;
  args: string[];
}

/**
 * The command in the settings, else the torchleak of the environment that is selected for Python, else the one on the
 * path.
 */
export function serverCommand(configured: string[] | null | undefined, python: string | undefined): Command {
  const [command, ...args] = configured ?? [];
  if (command !== undefined) {
    return { command, args };
  }
  if (python !== undefined && python !== "") {
    return { command: python, args: ["-m", "flake8_torchleak", "server"] };
  }
  return { command: "torchleak", args: ["server"] };
}

/** What to say where the server does not start. */
export function advice(command: Command): string {
  const line = [command.command, ...command.args].join(" ");
  return `torchleak does not start (${line}): pip install 'flake8-torchleak[server]' in the environment selected for Python`;
}
