// Runs the shell commands of a documentation page as a reader would: in order, in an empty folder, with the installed
// package. Fixed ports become free ones, a server runs in the background, and `…` in a key stands for the one that was
// printed last.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

const root = join(import.meta.dirname, '..')

/** Shell blocks of a page, in its order. Blocks in a list are indented. */
export const shellBlocks = (page: string): string[] =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = '', block = '']) => block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )

export interface DocCommands {
  readonly cwd: string
  /** With `PORT`, a free one for the server. */
  readonly env: NodeJS.ProcessEnv
  /** What to run instead of a line: for what needs a network, or another machine. */
  readonly replace: (line: string) => string
}

const limitMs = 300_000

/** Bash functions: what a reader does between two lines. */
const between = `
set -e
waitFor() { for attempt in $(seq 600); do if "$@" 2>/dev/null; then return 0; fi; sleep 0.2; done; echo "waited in vain: $*"; exit 1; }
answers() { curl -s -o /dev/null "$1"; }
stopServer() { if [ -n "$server" ]; then kill "$server"; wait "$server" || true; server=; fi; }
printedKey() { cat server.log output.log 2>/dev/null | grep -ao 'tetrad:[a-z0-9]*:[A-Za-z0-9_-]*' | tail -1; }
hasPrintedKey() { test -n "$(printedKey)"; }
mayFail() { "$@" || [ $? -eq 1 ]; }
`

/** A line of the page as a line of the script. */
function toScript(line: string): string {
  const command = line.replace(/ +(?:& *)?#.*$|&$/, '').trim()
  // A reader stops the earlier server, or uses another terminal.
  if (/^(?:npx )?tetrad serve/.test(command))
    return `stopServer\n${command} > server.log 2>&1 & server=$!\nwaitFor answers "http://127.0.0.1:$PORT/healthz"`
  if (command.includes('tetrad simulator')) return `${command} 2>> output.log &\nwaitFor test -s tetrad.yaml`
  if (/TETRAD_KEY='?tetrad:[^ ]*…/.test(command)) return 'waitFor hasPrintedKey; export TETRAD_KEY="$(printedKey)"'
  // They exit with 1 for data that is not there yet.
  if (/^(?:npx )?tetrad (?:coverage|doctor|conformance)/.test(command)) return `mayFail ${command}`
  return line
}

/** Returns the output. Fails with it if a command fails. */
export async function runDocCommands(page: string, { cwd, env, replace }: DocCommands): Promise<string> {
  const lines = shellBlocks(page)
    .flatMap((block) => block.split('\n'))
    .map((line) => toScript(replace(line)).replaceAll('127.0.0.1:8080', '127.0.0.1:$PORT'))
  const script = `${between}${lines.map((line) => `${line}\n`).join('')}stopServer\n`
  // A process group, so that everything that the script started can be ended.
  const child = spawn('bash', ['-c', `exec >> output.log 2>&1\n${script}`], {
    ...{ cwd, env: { ...env, TETRAD_SERVER_PORT: env.PORT }, detached: true },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const problems = text(child.stderr)
  const timer = setTimeout(() => end('SIGKILL'), limitMs)
  const end = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid ?? 0), signal)
    } catch {
      // Everything has ended.
    }
  }
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  end('SIGTERM')
  const output = (await readFile(join(cwd, 'output.log'), 'utf8')) + (await problems)
  const serverLog = await readFile(join(cwd, 'server.log'), 'utf8').catch(() => '')
  if (code !== 0) throw new Error(`${page}: a command failed with ${code}:\n${output}\nserver:\n${serverLog}`)
  return output
}
