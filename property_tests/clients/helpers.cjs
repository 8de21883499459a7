// For the tests beside: a package by its name, and a running fake with its admin API.
'use strict';
const { spawn } = require('node:child_process');
const readline = require('node:readline');

// The npm package, or an exit that says how to get it.
exports.load = (name) => {
  try {
    return require(name);
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    console.error(`the npm package ${name} is missing: ./dev test installs it into build/clients`);
    process.exit(1);
  }
};

// Starts `onceproof serve ARGS`. Resolves to {url, adminUrl, lines, admin(method, path, body), stop()}; `lines` are what it
// printed, in order.
exports.serve = async (...args) => {
  const child = spawn(process.env.ONCEPROOF, ['serve', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = [];
  const ready = new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`serve ended with ${code}: ${lines.join('\n')}`)));
    readline.createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.startsWith('admin')) resolve();
    });
  });
  await ready;
  const addressOf = (word) => lines.find((line) => line.startsWith(word)).match(/http:\/\/[^/\s]+/)[0];
  const adminUrl = addressOf('admin');
  return {
    lines,
    url: addressOf(lines[0].split(' ')[0]),
    adminUrl,
    admin: async (method, path, body) => {
      const reply = await fetch(adminUrl + path, { method, body: body && JSON.stringify(body) });
      if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${await reply.text()}`);
      return reply.json();
    },
    stop: () => new Promise((resolve) => {
      child.removeAllListeners('exit');
      child.once('exit', resolve);
      child.kill('SIGTERM');
    }),
  };
};
