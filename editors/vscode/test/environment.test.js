"use strict";

const assert = require("node:assert");
const test = require("node:test");

const { advice, serverCommand } = require("../dist/environment.js");

test("the settings go before the environment, and that before the path", () => {
  assert.deepStrictEqual(serverCommand(["a", "b"], "/env/python"), { command: "a", args: ["b"] });
  for (const none of [[], null, undefined]) {
    const command = serverCommand(none, "/env/python");
    assert.deepStrictEqual(command, { command: "/env/python", args: ["-m", "flake8_torchleak", "server"] });
    assert.deepStrictEqual(serverCommand(none, ""), { command: "torchleak", args: ["server"] });
  }
  assert.match(advice(serverCommand(null, undefined)), /torchleak server/);
});
